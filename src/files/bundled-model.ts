import { fileURLToPath } from 'node:url'

/** The small chat model that comes with hal0, so that a new home can answer something. */
export const BUNDLED_MODEL = fileURLToPath(new URL('../../models/hello.gguf', import.meta.url))

/** Its id in a new home's registry. */
export const BUNDLED_MODEL_ID = 'hello'
