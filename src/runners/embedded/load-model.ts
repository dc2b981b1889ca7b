import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import {
  getLlama,
  type Llama,
  type LlamaContext,
  LlamaLogLevel,
  type LlamaModel,
  NoBinaryFoundError,
  type TokenBias,
} from 'node-llama-cpp'
import { messageOf } from '../../kernel/errors.ts'
import { MIB } from '../../kernel/units.ts'
import { type ChatTemplate, createChatTemplate } from './chat-template.ts'
import { findEndTokens, forbidTokens } from './end-tokens.ts'
import { checkModelFile, LoadFailure } from './load-failure.ts'
import type { NativeLog } from './native-log.ts'
import { chooseFlashAttention, chooseParallel, chooseThreads, parallelChoices } from './rules/choose-resources.ts'
import type { EngineOptions } from './rules/parse-args.ts'

/** A model in memory with the windows its requests run in. */
export interface LoadedModel {
  readonly model: LlamaModel
  readonly context: LlamaContext
  readonly template: ChatTemplate
  /** Tokens of prompt and answer together that one request may use. */
  readonly windowTokens: number
  readonly parallel: number
  readonly threads: number
  readonly vocabulary: number
  /** Forbids every token that ends an answer, for `ignore_eos`. */
  readonly endForbidden: TokenBias
}

async function openLibrary(log: NativeLog): Promise<Llama> {
  try {
    return await getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      // No limit here: the context names its number, and the library's own sharing can leave a step waiting for threads.
      maxThreads: 0,
      logLevel: LlamaLogLevel.warn,
      logger: (level, message) => log.write(level, message),
    })
  } catch (error) {
    if (!(error instanceof NoBinaryFoundError)) throw error
    throw new LoadFailure(
      `node-llama-cpp has no llama.cpp build for ${process.platform}-${process.arch}; reinstall hal0 with optional dependencies`,
    )
  }
}

/** Bytes of context for so many windows, by the library's estimate from the file's own numbers. */
async function estimateContextBytes(model: LlamaModel, windowTokens: number, sequences: number): Promise<number> {
  const need = await model.fileInsights.estimateContextResourceRequirementsV2({
    contextSize: windowTokens,
    modelGpuLayers: 0,
    sequences,
    flashAttention: flashAttentionFor(model),
  })
  return need.cpuRam + need.gpuVram
}

function flashAttentionFor(model: LlamaModel): 'auto' | false {
  const { attention, embedding_length: width } = model.fileInfo.architectureMetadata
  const heads = Array.isArray(attention?.head_count) ? attention.head_count[0] : attention?.head_count
  return chooseFlashAttention(attention?.key_length ?? (width ?? 0) / (heads ?? 1))
}

const mib = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`

async function createContext(model: LlamaModel, options: EngineOptions, threads: number): Promise<LlamaContext> {
  const windowTokens =
    options.ctxTokens === 0 ? model.trainContextSize : Math.min(options.ctxTokens, model.trainContextSize)
  const freeBytes = process.availableMemory()
  const isDemand = options.parallel > 0 && !options.isParallelLimit
  const choices = isDemand ? [options.parallel] : parallelChoices(options.parallel)
  const contextBytes = await Promise.all(choices.map((count) => estimateContextBytes(model, windowTokens, count)))
  const parallel = isDemand ? options.parallel : chooseParallel(choices, contextBytes, freeBytes)
  const needBytes = contextBytes[choices.indexOf(parallel)] ?? 0
  if (needBytes > freeBytes) {
    throw new LoadFailure(
      `out of memory: a context of ${windowTokens} tokens for ${parallel} request(s) needs ${mib(needBytes)}, ` +
        `${mib(freeBytes)} are free; lower --ctx-size or --parallel`,
    )
  }
  return await model.createContext({
    contextSize: windowTokens,
    sequences: parallel,
    threads,
    flashAttention: flashAttentionFor(model),
    ...(options.batchTokens > 0 ? { batchSize: options.batchTokens } : {}),
    // The check above is ours; the library's would also count memory that the mapped file does not really take.
    ignoreMemorySafetyChecks: true,
    failedCreationRemedy: false,
  })
}

async function readTemplateFile(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new LoadFailure(`the file of --chat-template-file cannot be read: ${messageOf(error)}`)
  }
}

/**
 * Loads the file, memory-mapped, and makes its windows: `--ctx-size` is the window of each request (never more than the model
 * was trained for), not a total to be divided. Errors: LoadFailure, or whatever the library throws.
 */
export async function loadModel(options: EngineOptions, log: NativeLog): Promise<LoadedModel> {
  await checkModelFile(options.modelPath)
  const ownTemplate = await readTemplateFile(options.templateFile)
  const llama = await openLibrary(log)
  const model = await llama.loadModel({
    modelPath: options.modelPath,
    gpuLayers: 0,
    useMmap: true,
    ignoreMemorySafetyChecks: true,
  })
  const threads = chooseThreads(options.threads, availableParallelism(), model.size)
  const context = await createContext(model, options, threads)
  const metadata = model.fileInfo.metadata
  return {
    model,
    context,
    template: createChatTemplate(ownTemplate ?? metadata.tokenizer?.chat_template, {
      bos: model.tokens.bosString ?? '',
      eos: model.tokens.eosString ?? '',
    }),
    windowTokens: context.contextSize,
    parallel: context.totalSequences,
    threads,
    vocabulary: metadata.tokenizer?.ggml?.tokens?.length ?? 0,
    endForbidden: forbidTokens(model, findEndTokens(model)),
  }
}
