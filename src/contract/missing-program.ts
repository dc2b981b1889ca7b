/**
 * How it is said that a program is nowhere on PATH. One place for who says it and who reads it in `config_problem`: a slot whose program
 * is not installed is not broken.
 */
export function noProgramText(program: string): string {
  return `cannot start: no program "${program}" on PATH`
}

/** The program that a problem says is missing; undefined = something else is the matter, or nothing (null). */
export function missingProgramIn(problem: string | null | undefined): string | undefined {
  return /\bcannot start: no program "([^"]+)" on PATH/.exec(problem ?? '')?.[1]
}
