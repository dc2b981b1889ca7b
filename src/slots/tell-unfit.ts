import { slotsFolder } from '../config/slots/slot-file.ts'
import { NAME_RULE } from '../contract/names.ts'
import { announce } from '../events/announce.ts'
import type { Publisher } from '../events/bus.ts'
import type { Home } from '../files/home.ts'
import type { Log } from '../kernel/log.ts'

/** Says that a file is no slot: a person put it there to be one and would wait for it in vain. */
export function tellUnfit(
  file: string,
  deps: { readonly home: Home; readonly log: Log; readonly bus: Publisher },
): void {
  const message = `${slotsFolder(deps.home)}/${file} is not a slot: the name of its file cannot be a slot's; expected ${NAME_RULE}, then .toml`
  announce(deps, { type: 'config.unfit_name', severity: 'warning', source: 'config', message, data: { file } })
}
