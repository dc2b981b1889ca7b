/** Who owns a flag, and where its setting lives instead: what is true of the flags of every dialect. */
export const INSTEAD = {
  model: 'hal0 sets it from the model that the slot names ([model] default)',
  address: 'hal0 chooses the address; only the port can be set, as port in the slot file',
  key: 'hal0 makes a key for each engine; keys of people live in the gateway',
  gateway: 'the gateway answers to the outside, not the engine',
  serves: 'the engine would not serve as a slot',
  device: 'the slot owns it: device and gpu_index of its file',
  files: 'a profile opens no files, sockets or programs',
} as const
