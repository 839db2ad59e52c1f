/** The frameworks' ways to write a step into a name, most telling first. */
const STEP_NAMES: readonly RegExp[] = [
  /(?:^|[-_./])global[-_]?step[-_=]?(\d+)/i,
  /(?:^|[-_.,/])step[-_=]?(\d+)/i,
  /(?:^|[-_./])iter(?:ation)?[-_=]?0*(\d+)/i,
  /^ep\d+-ba(\d+)/,
  /(?:^|[-_./])(?:checkpoint|ckpt|hpc_ckpt|cp)[-_.]?(\d+)/i,
  /(?:^|[-_./])(?:epoch|ep)[-_=]?(\d+)/i,
  /^(\d+)$/,
  /[-_.](\d+)$/,
];

/** What ranks and their machines add to the names of their files: a number, but of no step. */
const WRITER = /(?:^|[-_.])(?:rank|worker|proc|process|node|gpu)[-_.]?\d+$/i;

/** The step a name speaks of, or null. A guess for ordering; what stands inside the files wins. */
export function stepOfName(name: string): number | null {
  const stem = name
    .replace(/(\.(pt|pth|bin|ckpt|safetensors|h5|hdf5|keras|npz|npy|gguf|msgpack|weights|index))+$/i, '')
    .replace(WRITER, '');
  for (const pattern of STEP_NAMES) {
    const step = Number(pattern.exec(stem)?.[1] ?? Number.NaN);
    if (Number.isSafeInteger(step)) return step;
  }
  return null;
}
