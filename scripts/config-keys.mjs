/**
 * The files that docs/config.md describes: where the schema of each is (a module in dist/, its export), and what each key means. Types and
 * defaults come from the schemas; the printer refuses a key that is missing here, and one that no schema has. `*` = a name of the user's.
 */

/** Accepted, checked and kept, but nothing in this version reads it. */
const LATER = 'No effect yet.'

const profileKeys = {
  flags: 'Engine flags: a list of words, or one string that is split as a shell splits words (nothing is expanded).',
  ctx_size: "Context window in tokens. Absent: the model's own, at most 32768.",
  enable_thinking: 'Whether the model thinks before it answers. Absent: as its chat template says.',
  reasoning_effort: 'How hard it thinks, for templates that know levels.',
  reasoning_budget: 'Tokens for thinking; -1 = no limit, 0 = none.',
  vision: "`off` leaves the model's projector out.",
  speculation: "`auto`: with the model's drafter or its own prediction heads, where it has them; `ngram`: by lookup.",
}

export const files = {
  'hal0.toml': {
    module: 'config/settings/daemon-settings',
    schema: 'daemonSettingsSchema',
    keys: {
      'server.host': 'Address to listen on. Without users it must be a loopback address.',
      'server.port': 'Port of the gateway and the API; 0 = any free one.',
      'server.allowed_hosts': 'Names besides `localhost` and loopback addresses that a `Host` header may carry.',
      'server.trusted_proxies':
        'Addresses, or ranges such as `10.0.0.0/8`, of proxies whose forwarded headers (`X-Forwarded-For` and its kin) count; from everybody else they do not.',
      'server.public_url':
        'Where people reach this hal0, such as `https://hal0.example.org`: for links in notifications, and addresses of calendar feeds. Absent: the address that hal0 listens on; the name of the machine where that is every address.',
      'server.json_limit_bytes': 'A longer JSON body is refused with 413.',
      'server.form_limit_bytes': 'A longer multipart form (audio) is refused with 413. Forms are streamed.',
      'server.body_memory_bytes':
        'Memory for the bodies of all requests that wait or are read; the next one gets 429 with `Retry-After`, one that is larger than all of it 413.',
      'server.spill_limit_bytes':
        'Disk, in `var-lib/hal0/tmp`, for all forms whose `model` comes behind a file; the next one gets 429 with `Retry-After`.',
      'slots.port_range': 'Ports for engines: lowest and highest.',
      'slots.queue_limit':
        'Requests that may wait at one slot; with one more, the newest of the client that has the most waiting gets 429.',
      'slots.on_exit':
        '`stop`: engines end with the daemon. `keep`: they go on, and the next daemon takes them over; see below.',
      'slots.stop_grace_s': 'Seconds between SIGTERM and SIGKILL for an engine.',
      'slots.stop_wait_s': 'Seconds that an unload waits for the process to end; the stop goes on after that.',
      'slots.load_verdict_s': 'Seconds after which a load that is still undecided says so.',
      'slots.load_limit_s': 'Seconds after which such a load is begun anew, once; the second time the slot fails.',
      'slots.idle_timeout_s':
        'Seconds without a request after which a slot is `idle`: it still serves, and that is all.',
      'slots.unload_after_s':
        'Seconds after the last request until a slot is unloaded; 0 = never. Never a pinned slot.',
      'slots.evict_pressure_mb': 'Less free main memory than this, in MiB, makes room; see [eviction.md](eviction.md).',
      'slots.evict_pressure_pct': 'The same in per cent of the memory; the lower of the two counts.',
      'slots.arbiter': 'Which image and language slots take turns on a GPU; see [arbiter.md](arbiter.md).',
      'slots.admission': 'Whether a load that does not fit into memory is refused, only told, or not checked.',
      'slots.output_sanity':
        'How strictly the first answer of a language model is looked at; see [engines.md](engines.md).',
      'slots.groups': 'Names of groups, each a list of slots of which one at a time is loaded.',
      'dispatcher.load_wait_s': 'Seconds that a request waits for a slot that is loading; then 503 with `Retry-After`.',
      'dispatcher.unknown_model': 'What a model name that nobody knows gets: slot `agent`, or 404.',
      'dispatcher.on_demand_slot': 'The slot into which a registered model is loaded that no slot binds; `""` = none.',
      'dispatcher.stall_s': 'Longest silence of an engine after the first byte of its answer, seconds; 0 = no limit.',
      'dispatcher.total_s':
        'Longest time of an answer in all, from the moment its engine has the request, seconds; 0 = no limit.',
      'dispatcher.client_stall_s':
        'Longest time a client may take nothing while data waits, or send nothing in the middle of its body, seconds; 0 = no limit.',
      'dispatcher.heartbeat_s':
        'An event stream that is silent so long after its engine has answered gets a comment (Anthropic: a `ping`), seconds; 0 = never. A request may ask for it by `X-Hal0-Heartbeat`.',
      'models.scan': 'Folders, by absolute paths, that `hal0 model scan` looks through besides the store.',
      'models.store': 'Folder of pulled models. Absent: `var-lib/hal0/models` of the home.',
      'models.hub_endpoint':
        'Where models are pulled from. Absent: `HF_ENDPOINT` of the environment, else the public hub.',
      'scheduler.tick_seconds':
        'Seconds after which each lane is looked at again, at the latest; it is also when anything of it changes.',
      'scheduler.buffer_seconds':
        'Seconds that are added to the estimated time of a load, so that a booked model is ready before its booking starts.',
      'scheduler.drain_seconds':
        'Seconds that requests may run on when a lane switches, or when their user loses access; then they are cut.',
      'scheduler.stop_timeout_seconds':
        'Seconds that an engine of a lane has to stop before it is killed; a lane plans with them, as before an exclusive booking.',
      'scheduler.load_timeout_seconds': 'Seconds after which a load of a lane that is not ready has failed.',
      'scheduler.disk_read_mbps':
        'Megabytes a second that the disk reads: how long a load takes is estimated by it before there was one.',
      'security.session_hours': 'Hours that a sign-in with a password lasts.',
      'security.sign_in_attempts':
        'Wrong passwords from one address within the window; the next try gets 429 with `Retry-After`.',
      'security.sign_in_window_s': 'That window, in seconds.',
      'notify.webhook.url': 'Where notifications about bookings are posted. Absent: nowhere.',
      'notify.webhook.secret': 'Signs each of them; never shown.',
      'notify.smtp.host': 'Mail server for notifications about bookings.',
      'notify.smtp.port': 'Its port.',
      'notify.smtp.user': 'The user there. Absent: none signs in.',
      'notify.smtp.password': 'Its password; never shown.',
      'notify.smtp.from': "The sender's address.",
      'notify.smtp.tls':
        '`starttls`: the connection is encrypted after its start. `tls`: from its start. `off`: it is not.',
      'runners.*.binary': 'The program of that runner. Absent: looked for on PATH.',
      'runners.*.image': `Its container image. ${LATER}`,
      'runners.*.on_client_abort':
        '`abort`: a client that leaves cuts its request. `drain`: the engine answers to the end, for nobody.',
      'runners.*.template':
        'Makes a runner of your own, or says how one of [docs/runners.md](runners.md) is started: its command, word by word, with `${PORT}`, `${MODEL}`, `${ALIAS}`, `${CTX}`, `${HOST}`.',
      'runners.*.health_path': 'Of these: a path that answers 200 once the engine can serve.',
      'runners.*.models_path': 'Of these: its list of models; "" = it has none.',
      'runners.*.identity_path': 'With a template: a path that answers only with the engine key.',
      'runners.*.stop_signal': 'Of these: what ends it.',
      'runners.*.key_env': 'With a template: the environment variable in which it takes its key.',
      'runners.*.usage_on_request':
        'With a template: `true` where its streams tell their usage only with `stream_options.include_usage`; hal0 then asks for it.',
      'runners.*.types': 'With a template: the slot types it serves.',
      'runners.*.routes': 'With a template: the routes it has.',
    },
  },
  'slots/NAME.toml': {
    module: 'config/slots/rules/slot-schema',
    schema: 'slotFileSchema',
    keys: {
      name: 'Must be the name of the file.',
      aliases: 'Further names under which requests reach the slot.',
      port: 'Port of the engine. Absent: a free one of `[slots] port_range`, kept.',
      type: 'What the slot serves.',
      device: 'What the engine runs on; without `binary` it chooses the runner, see below.',
      gpu_index: 'Number of the one GPU to use; not one of a lane. Absent: all that no lane owns.',
      n_gpu_layers: 'Layers on the GPU; -1 = what the runner thinks best.',
      threads: 'Threads of the engine; 0 = what the runner thinks best.',
      binary: 'The runner. Absent: by the profile, else by `device`.',
      image_pin: `Another container image than the runner's, for hunting faults. ${LATER}`,
      runtime: 'How the engine is run.',
      profile: 'The profile. Absent: the built-in one of the type.',
      default: 'The slot for its type when nothing else decides; one per type.',
      autoload: 'Load when the daemon starts. Absent: yes, once a model is bound.',
      pinned:
        'Needs `--force` to be deleted, and is never unloaded to make room, nor for being idle. Absent: `agent`, `utility` and the language slot on the NPU are.',
      priority: 'What is unloaded to make room: the lowest first; 100 is last, only `pinned` is never.',
      idle_timeout_s: 'As `[slots] idle_timeout_s`, for this slot.',
      unload_after_s: 'As `[slots] unload_after_s`, for this slot.',
      parallel_hint: `Requests at once that you expect. ${LATER}`,
      output_sanity: 'As `[slots] output_sanity`, for this slot.',
      admission: 'As `[slots] admission`, for this slot.',
      'model.default': 'An id from models.toml; empty = no model, and the slot cannot load.',
      'tune.ctx_size': "Context window in tokens, instead of the profile's.",
      'tune.enable_thinking': "Whether new requests think, instead of the profile's word.",
      'tune.reasoning_effort': "Instead of the profile's.",
      'tune.reasoning_budget': "Instead of the profile's.",
      'tune.vision': "Instead of the profile's.",
      'tune.speculation': "Instead of the profile's.",
      'server.env': 'Environment variables of the engine, see below.',
      'npu.asr': 'Speech to text beside the LLM on the NPU, as slot `flm-stt`.',
      'npu.embed': 'Embeddings beside the LLM on the NPU, as slot `flm-embed`.',
      'image.default_size': 'Size of images when a request does not say, `WIDTHxHEIGHT`. Absent: 1024x1024.',
      'image.default_steps': 'Steps when a request does not say. Absent: 20.',
      default_voice: 'Voice of `/v1/audio/speech` when a request does not say.',
      default_speed: 'Speed of speech when a request does not say.',
      default_response_format: 'Format of speech when a request does not say.',
      lru: 'Of earlier versions; accepted, has no effect.',
    },
  },
  'lanes/NAME.toml': {
    module: 'contract/lane-config',
    schema: 'laneConfigSchema',
    keys: {
      name: 'May be left out; else the name of the file.',
      device: 'What the engine runs on.',
      gpus: 'Numbers of its GPUs, which then belong to it alone; needed on a GPU, see below.',
      'default.model': 'An id from models.toml: what the lane runs when nobody has booked it. No `[default]`: nothing.',
      'default.profile': "The profile of that. Absent: the model's preferred one, else `chat`.",
      runner: 'The runner of what the lane runs, where the profile names none. Absent: by `device`.',
      threads: 'Threads of its engine on the CPU; 0 = what the runner thinks best, often every core.',
      min_preload_s:
        'Seconds before a booking from which its model is loaded, at least; more where the load takes longer.',
      approval: '`required`: a booking counts once an admin has approved it.',
      allow_exclusive: '`true`: the whole lane may be booked with nothing loaded on it.',
      no_show_minutes: 'A booking without a request for so long after its start is released; 0 = never.',
      'limits.min_minutes': 'The shortest booking. Limits are for members; admins have none.',
      'limits.max_hours': 'The longest booking.',
      'limits.max_days_ahead': 'How far ahead a booking may start.',
      'limits.max_open_per_user': 'Bookings of one user that are not over.',
      'limits.max_hours_per_week': 'Booked hours of one user in a week; 0 = no limit.',
    },
  },
  'profiles.toml': {
    module: 'config/profiles/profiles-file',
    schema: 'profilesFileSchema',
    keys: {
      ...Object.fromEntries(Object.entries(profileKeys).map(([key, meaning]) => [`profiles.*.${key}`, meaning])),
      'profiles.*.runner': 'Runner for slots that name none themselves.',
      'profiles.*.intent': 'What it is for, one line for people.',
      'profiles.*.cloned_from': 'The profile it was made from.',
      'profiles.*.mtp': 'Of earlier versions; rewritten as `speculation`.',
    },
  },
  'models.toml': {
    module: 'config/models/models-file',
    schema: 'modelsFileSchema',
    keys: {
      'models.*.path': 'The GGUF file, an absolute path. Of a split model the first part.',
      'models.*.files': 'All parts of a split model, first part first; instead of `path`, or beside it.',
      'models.*.size_bytes': 'Size of all parts.',
      'models.*.quant': 'Quantisation, for people.',
      'models.*.architecture': "Instead of the header's word.",
      'models.*.native_ctx': "Tokens the model was trained for, instead of the header's word.",
      'models.*.chat_template': 'A Jinja file that replaces the template in the GGUF.',
      'models.*.mmproj': 'Its projector for images or audio.',
      'models.*.drafter': 'A smaller model that drafts for it.',
      'models.*.mtp': 'Whether the file has prediction heads of its own. Absent: the tag `mtp` decides.',
      'models.*.jinja': "`false`: its template does not work with the engine's Jinja.",
      'models.*.tags': 'Words of yours.',
      'models.*.capabilities': 'Words for what it can do.',
      'models.*.license': 'Its licence.',
      'models.*.hf_repo': 'The repository it came from.',
      'models.*.hf_filename': 'The file in that repository.',
      'models.*.sha256': 'Checksum of the (first) file.',
      'models.*.preferred_profile': 'The profile that a swap to this model brings along.',
    },
  },
}
