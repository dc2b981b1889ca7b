/**
 * The files that docs/config.md describes: where the schema of each is (a module in dist/, its export), and what each key means. Types and
 * defaults come from the schemas; the printer refuses a key that is missing here, and one that no schema has. `*` = a name of the user's.
 */
export const files = {
  'hal0.toml': {
    module: 'config/daemon-settings',
    schema: 'daemonSettingsSchema',
    keys: {
      'server.host': 'Address to listen on. Without users it must be a loopback address.',
      'server.port': 'Port of the gateway and the API; 0 = any free one.',
      'server.allowed_hosts': 'Names besides `localhost` and loopback addresses that a `Host` header may carry.',
      'server.json_limit_bytes': 'A longer JSON body is refused with 413.',
      'slots.port_range': 'Ports for engines: lowest and highest.',
      'slots.queue_limit': 'Requests that may wait at one slot; the next one gets 429.',
      'slots.on_exit': '`stop`: engines end with the daemon. `keep`: they go on; see below.',
      'slots.stop_grace_s': 'Seconds between SIGTERM and SIGKILL for an engine.',
      'slots.stop_wait_s': 'Seconds that an unload waits for the process to end; the stop goes on after that.',
      'slots.load_verdict_s': 'Seconds after which a load that is still undecided says so.',
      'slots.load_limit_s': 'Seconds after which such a load is begun anew, once; the second time the slot fails.',
      'dispatcher.load_wait_s': 'Seconds that a request waits for a slot that is loading; then 503 with `Retry-After`.',
      'dispatcher.unknown_model': 'What a model name that nobody knows gets: slot `agent`, or 404.',
      'dispatcher.stall_s': 'Longest silence of an engine inside an answer, seconds; 0 = no limit.',
      'dispatcher.client_stall_s': 'Longest time a client may take nothing while data waits, seconds; 0 = no limit.',
      'runners.*.binary': 'The llama-server of that runner. Absent: `llama-server` on PATH.',
      'runners.*.on_client_abort':
        '`abort`: a client that leaves cuts its request. `drain`: the engine answers to the end, for nobody.',
    },
  },
  'slots/NAME.toml': {
    module: 'config/slot-file',
    schema: 'slotFileSchema',
    keys: {
      name: 'Must be the name of the file.',
      port: 'Port of the engine. Absent: a free one of `[slots] port_range`, kept.',
      type: 'What the slot serves.',
      device: 'What the engine runs on; without `binary` it chooses the runner, see below.',
      binary: 'The runner. Absent: by `device`.',
      runtime: 'How the engine is run.',
      n_gpu_layers: 'Layers on the GPU; -1 = what the runner thinks best.',
      threads: 'Threads of the engine; 0 = what the runner thinks best.',
      autoload: 'Load when the daemon starts. Absent: yes, once a model is bound.',
      'model.default': 'An id from models.toml; empty = no model, and the slot cannot load.',
      'server.env': 'Environment variables of the engine, see below.',
    },
  },
  'models.toml': {
    module: 'config/models-file',
    schema: 'modelsFileSchema',
    keys: {
      'models.*.path': 'The GGUF file, an absolute path. Of a split model the first part.',
    },
  },
}
