import { z } from 'zod'

/** One mistake in a settings file. */
export const configMistakeSchema = z.object({
  file: z.string(),
  /** Dotted, or `line L, column C`; '' = the file as a whole. */
  key: z.string(),
  /** What is wrong, what was expected, what to do. */
  message: z.string(),
  /** The code a launch or write would fail with. */
  code: z.string(),
})
export type ConfigMistakeRow = z.infer<typeof configMistakeSchema>

/** GET /api/config/validate and `hal0 config validate`: every file of the home, every mistake. Source: SPEC 2. */
export const configReportSchema = z.object({
  home: z.string(),
  /** Files that were read. */
  files: z.array(z.string()),
  mistakes: z.array(configMistakeSchema),
  /** Worth knowing, no mistake: retired keys, names of later versions. */
  warnings: z.array(configMistakeSchema),
})
export type ConfigReport = z.infer<typeof configReportSchema>

/** `hal0 config migrate`: what was moved. */
export const migrationSchema = z.object({
  migrated: z.array(
    z.object({ file: z.string(), backup: z.string(), profile: z.string().nullable(), moved: z.array(z.string()) }),
  ),
  /** Files that could not be migrated, with the reason. */
  failed: z.array(configMistakeSchema),
})
export type Migration = z.infer<typeof migrationSchema>
