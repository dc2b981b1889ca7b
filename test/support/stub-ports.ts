import type { ManagementPorts } from '../../src/api/api-context.ts'
import type { ArbiterStatus } from '../../src/contract/arbiter.ts'
import type { Capacity } from '../../src/contract/capacity.ts'
import type { ConfigReport } from '../../src/contract/config-report.ts'
import type { Hardware } from '../../src/contract/hardware.ts'
import type { LoadRecord } from '../../src/contract/load-record.ts'
import type { FoundModel, ModelRow } from '../../src/contract/model.ts'
import type { ProfileEnvelope, ProfileRow } from '../../src/contract/profile.ts'
import type { PullJob } from '../../src/contract/pull.ts'
import type { ResolvedLaunch } from '../../src/contract/resolved.ts'
import type { RunnerRow } from '../../src/contract/runner.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { UsageReport } from '../../src/contract/usage.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { stubLanePorts } from './stub-lane-ports.ts'

/** Ports that write down what they are asked, and answer with fixed rows (nobody knows `nope`) or with the error that the test sets. */
export interface StubPorts extends ManagementPorts {
  /** `admin.create {"name": …}`, in order. */
  readonly asked: string[]
  /** What the API had written into the audit: `lanes local did PUT …`, `refused GET /api/events`. */
  readonly audited: readonly string[]
  /** From now on every call fails with it. */
  failWith(error: Hal0Error | undefined): void
  /** The next jobs of `pulls.follow`; the last one stands for `show` too. */
  setJobs(jobs: readonly PullJob[]): void
  /** Why a start would fail, in the answer to every change of a slot. */
  setProblem(problem: string | null): void
  /** Ends `pulls.follow` after its jobs; else it stays open until its reader leaves. */
  endFollow(): void
}

export const PROFILE: ProfileRow = {
  name: 'long',
  seed: false,
  flags: ['--temp', '0.2', 'two words'],
  ctx_size: 65_536,
  enable_thinking: null,
  reasoning_effort: null,
  reasoning_budget: null,
  vision: null,
  speculation: 'off',
  runner: null,
  intent: 'Long texts',
  cloned_from: 'chat',
  used_by: ['agent'],
}

export const MODEL: ModelRow = {
  id: 'org/name.q8',
  path: '/models/name.gguf',
  files: ['/models/name.gguf'],
  size_bytes: 4_700_000_000,
  quant: 'Q8_0',
  architecture: 'llama',
  parameters: null,
  native_ctx: 8192,
  chat_template: null,
  mmproj: null,
  drafter: null,
  mtp: null,
  jinja: null,
  tags: [],
  capabilities: [],
  license: null,
  hf_repo: null,
  hf_filename: null,
  sha256: null,
  preferred_profile: null,
  missing: [],
  problem: null,
  bound_by: ['agent'],
}

export const FOUND: FoundModel = {
  suggested_id: 'name',
  path: '/models/name.gguf',
  files: ['/models/name.gguf'],
  missing: [],
  size_bytes: 1000,
  mmproj: null,
  drafter: null,
  registered_as: null,
  facts: {
    kind: 'model',
    name: 'Name',
    architecture: 'llama',
    native_ctx: 8192,
    quant: 'Q8_0',
    parameters: null,
    has_chat_template: true,
    mtp_layers: 0,
    pooling: null,
    split: null,
    license: null,
    size_bytes: 1000,
    kv: {
      layers: 2,
      kv_heads: 2,
      heads: 4,
      embedding_length: 64,
      key_length: null,
      value_length: null,
      kv_lora_rank: null,
      rope_dimensions: null,
      sliding_window: null,
      sliding_window_pattern: null,
      vocabulary: 100,
      ssm: null,
    },
  },
}

export const ENVELOPE: ProfileEnvelope = {
  kind: 'hal0.profiles',
  schema_version: 1,
  hal0_version: '1.2.3',
  profiles: { long: { flags: ['--temp', '0.2'], ctx_size: 65_536 } },
  sha256: 'a'.repeat(64),
}

export const JOB: PullJob = {
  id: 'org/name.q8',
  state: 'running',
  repo: 'org/name',
  files: ['name-Q8_0.gguf'],
  total_bytes: 1_000_000,
  done_bytes: 250_000,
  bytes_per_second: 50_000,
  resumes: 0,
  started_at: '2026-01-01T00:00:00.000Z',
  finished_at: null,
  error: null,
}

export const RESOLVED: ResolvedLaunch = {
  slot: 'agent',
  model_id: 'hello',
  profile: 'chat',
  profile_source: 'default',
  runner: 'cpu',
  argv: ['/bin/llama-server', '--temp', '0.2', '--chat-template-kwargs', '{"a": "it\'s"}'],
  flags: [
    {
      flag: '--temp',
      values: ['0.2'],
      layer: 'profile',
      canonical: '--temp',
      replaced: [{ flag: '--temperature', values: ['0.8'], layer: 'model' }],
    },
  ],
  removed: [{ flag: '-ngl', values: ['9'], layer: 'profile', reason: 'denied', detail: 'the slot owns it' }],
  env: { HOME: '/tmp' },
  ctx_effective: 4096,
  ctx_source: 'profile',
  speculation: { mode: 'off', detail: '' },
  thinking: { enabled: null, source: 'template', pinned_by: null },
  notes: ['the window is beyond the model’s own'],
  config_drift: [],
  restart_needed: ['profile'],
}

export const LOAD: LoadRecord = {
  slot: 'agent',
  attempt_id: 'a1',
  model_id: 'hello',
  profile: 'chat',
  begun_at: '2026-01-01T00:00:00.000Z',
  took_ms: 2_300,
  phases: { spawn: 40, warm: 2_000, sanity: 260 },
  outcome: 'ready',
  code: null,
}

const SUMS = {
  requests: 3,
  failed: 1,
  prompt_tokens: 40,
  completion_tokens: 500,
  cached_tokens: 8,
  unknown: 1,
  busy_ms: 90_500,
}

export const USAGE: UsageReport = {
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-08T00:00:00.000Z',
  by: 'slot',
  total: { ...SUMS, requests: 5, failed: 3 },
  groups: [
    { key: 'agent', name: null, ...SUMS },
    { key: null, name: null, ...SUMS, requests: 2, failed: 2 },
  ],
}

export const ARBITER: ArbiterStatus = {
  active: true,
  mode: 'img',
  switching_to: null,
  pinned: false,
  since: '2026-01-01T00:00:00.000Z',
  image_slot: 'img',
  llm_slots: ['agent'],
  saved_slots: ['agent'],
  waiting: { llm: 1, img: 0 },
  rendering: 1,
  queue: { running: 1, pending: 2 },
  system_stats: { system: { os: 'posix' } },
}

export const CAPACITY: Capacity = {
  pools: [
    {
      id: 'host',
      kind: 'host',
      total_bytes: 64_000_000_000,
      free_bytes: 12_300_000_000,
      promised_bytes: 4_100_000_000,
    },
    { id: 'gpu0', kind: 'vram', total_bytes: null, free_bytes: null, promised_bytes: 0 },
  ],
  slots: [
    {
      slot: 'agent',
      state: 'ready',
      pools: ['host'],
      held_bytes: 3_000_000_000,
      priority: 50,
      pinned: false,
      in_flight: 0,
      eviction_order: 1,
    },
  ],
  waiting: [],
}

const RUNNER: RunnerRow = {
  key: 'cpu',
  title: 'llama-server on the CPU',
  dialect: 'llama-server',
  types: ['llm'],
  routes: ['chat'],
  command: null,
  version: null,
  abilities: null,
  has_keys: true,
  problem: 'There is no llama-server on PATH.',
}

export const HARDWARE: Hardware = {
  cpu: { model: 'AMD EPYC 7763 64-Core Processor', cores: 64 },
  pools: [
    { id: 'host', kind: 'host', total_bytes: 270_000_000_000, free_bytes: 250_000_000_000 },
    { id: 'gpu0', kind: 'vram', total_bytes: 25_757_220_864, free_bytes: null },
  ],
  gpus: [
    {
      index: 0,
      vendor: 'NVIDIA',
      name: 'NVIDIA GeForce RTX 3090',
      pci_address: '0000:01:00.0',
      pool: 'gpu0',
      gtt_total_bytes: null,
      busy: 3,
      temperature: 41,
    },
  ],
  npu: null,
  problems: ['nvidia-smi: gave no answer within 3 s'],
}

const REPORT: ConfigReport = { home: '/tmp/home', files: ['/tmp/home/etc/hal0/hal0.toml'], mistakes: [], warnings: [] }

const UNKNOWN: Readonly<
  Record<string, 'profile.not_found' | 'lane.not_found' | 'reservation.not_found' | 'validation.invalid'>
> = {
  profiles: 'profile.not_found',
  lanes: 'lane.not_found',
  laneFiles: 'lane.not_found',
  bookings: 'reservation.not_found',
  accounts: 'validation.invalid',
}

/** `row`: what the slots answer with. */
export function stubPorts(row: (name: string) => SlotRow): StubPorts {
  const asked: string[] = []
  let failure: Hal0Error | undefined
  let jobs: readonly PullJob[] = [JOB]
  let ends = false
  let problem: string | null = null

  function ask<T>(call: string, answer: T, ...args: unknown[]): T {
    asked.push([call, ...args.flatMap((arg) => JSON.stringify(arg) ?? [])].join(' '))
    if (failure !== undefined) throw failure
    if (args[0] === 'nope') {
      const [kind = ''] = call.split('.')
      throw Hal0Error.of(UNKNOWN[kind] ?? 'model.not_found', `there is no nope (${call})`)
    }
    return answer
  }
  /** A port's promise rejects; it does not throw. */
  const later =
    <Args extends unknown[], T>(call: string, answer: (...args: Args) => T) =>
    async (...args: Args): Promise<T> =>
      ask(call, answer(...args), ...args)

  const change = (name: string) => ({
    name,
    config: { name },
    changed: ['profile'],
    problem,
    restart_needed: ['profile'],
  })
  const lastJob = () => jobs.at(-1) ?? JOB

  return {
    asked,
    failWith: (error) => {
      failure = error
    },
    setJobs: (next) => {
      jobs = next
    },
    setProblem: (next) => {
      problem = next
    },
    endFollow: () => {
      ends = true
    },
    problems: () => ({ settings_problem: null, history_problem: null, notify_problem: null }),
    admin: {
      create: later('admin.create', (payload) => row(String(payload['name']))),
      config: later('admin.config', (name: string) => ({ name, config: { name, model: { default: 'hello' } } })),
      updateConfig: later('admin.updateConfig', (name: string, _patch: unknown) => change(name)),
      updateDefaults: later('admin.updateDefaults', (name: string, _patch: unknown) => change(name)),
      remove: later('admin.remove', (_name: string, _options: unknown) => undefined),
      rename: later('admin.rename', (_name: string, to: string) => row(to)),
      swap: later('admin.swap', (name: string, request: { readonly modelId: string }) => ({
        ...row(name),
        model_id: request.modelId,
      })),
      resolved: later('admin.resolved', (slot: string) => ({ ...RESOLVED, slot })),
      reseed: later('admin.reseed', (_names: readonly string[] | undefined) => ({
        created: ['agent'],
        kept: ['coder'],
        skipped: [{ name: 'flm', reason: 'no NPU' }],
      })),
    },
    profiles: {
      list: later('profiles.list', () => [PROFILE]),
      show: later('profiles.show', (name: string) => ({ ...PROFILE, name })),
      create: later('profiles.create', (input: { readonly name: string }) => ({ ...PROFILE, name: input.name })),
      update: later('profiles.update', (name: string, _patch: unknown) => ({ ...PROFILE, name })),
      remove: later('profiles.remove', (_name: string) => undefined),
      exportEnvelope: later('profiles.exportEnvelope', (_names: readonly string[] | undefined) => ENVELOPE),
      importEnvelope: later('profiles.importEnvelope', (_input: unknown) => ({
        created: ['long'],
        overwritten: [],
        skipped: [{ name: 'mine', reason: 'it is there' }],
      })),
    },
    models: {
      list: later('models.list', () => [MODEL]),
      show: later('models.show', (id: string) => ({ ...MODEL, id })),
      add: later('models.add', (input: { readonly id?: string | undefined }) => ({ ...MODEL, id: input.id ?? 'name' })),
      update: later('models.update', (id: string, _patch: unknown) => ({ ...MODEL, id })),
      remove: later('models.remove', (id: string, _options: unknown) => ({
        id,
        deleted_files: ['/models/name.gguf'],
        freed_bytes: 1000,
      })),
      scan: later('models.scan', (_input: unknown) => ({
        found: [FOUND],
        registered: [],
        skipped: [{ path: '/models/x.gguf', reason: 'damaged' }],
        files_seen: 2,
      })),
      inspect: later('models.inspect', (path: string) => ({ ...FOUND, path })),
    },
    pulls: {
      start: later('pulls.start', (id: string, _request: unknown) => ({ ...JOB, id })),
      list: () => ask('pulls.list', [JOB]),
      show: (id) => ask('pulls.show', { ...lastJob(), id }, id),
      cancel: later('pulls.cancel', (id: string) => ({ ...JOB, id, state: 'cancelled' as const })),
      async *follow(id, signal) {
        for (const job of jobs) yield { ...job, id }
        if (ends) return
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
        asked.push(`left ${id}`)
      },
      close: () => Promise.resolve(),
    },
    runners: later('runners', () => [RUNNER]),
    hardware: later('hardware', () => HARDWARE),
    validate: later('validate', () => REPORT),
    loads: { recent: (slot, limit) => ask('loads.recent', [{ ...LOAD, slot }], slot, limit) },
    usage: { report: (query) => ask('usage.report', { ...USAGE, by: query.by }, query) },
    capacity: later('capacity', () => CAPACITY),
    metrics: later('metrics', () => ({ contentType: 'text/plain; version=0.0.4; charset=utf-8', body: 'hal0_up 1\n' })),
    arbiter: {
      status: later('arbiter.status', () => ARBITER),
      pin: later('arbiter.pin', (_pinned: boolean) => undefined),
      switchover: later('arbiter.switchover', (_request: unknown) => undefined),
    },
    ...stubLanePorts(ask, row),
    settings: () => ask('settings', { server: { host: '127.0.0.1', port: 8080 } }),
  }
}
