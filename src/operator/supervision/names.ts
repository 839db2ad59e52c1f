/** The folder of the programs in the operator's own image. */
const IN_IMAGE = '/opt/holdfast';
/** The folder of everything that the operator mounts into a training container. */
export const MOUNTED = '/holdfast';
const BIN = `${MOUNTED}/bin`;
const POD = `${MOUNTED}/pod`;

/** The programs in the operator's own image. `npm run build:run` makes both. */
export const IMAGE_FILES = { launcher: `${IN_IMAGE}/holdfast-launch`, supervisor: `${IN_IMAGE}/holdfast-run` } as const;

/** The same programs in a training container, and the notices of its pod. */
export const POD_FILES = {
  bin: BIN,
  launcher: `${BIN}/holdfast-launch`,
  supervisor: `${BIN}/holdfast-run`,
  pod: POD,
  notices: `${POD}/annotations`,
} as const;

/** The volumes that the operator adds to a supervised pod. */
export const VOLUMES = { bin: 'holdfast-bin', pod: 'holdfast-pod' } as const;
/** The init containers that it adds: the first copies the programs, the second test-runs them. */
export const CONTAINERS = { install: 'holdfast-install', check: 'holdfast-check' } as const;

/** Whether a command line starts `holdfast run`, by itself or through the launcher. */
export function startsSupervisor(command: readonly string[]): boolean {
  const [program = '', word] = isLauncher(command) ? command.slice(1) : command;
  return /(?:^|\/)holdfast-run$/.test(program) || (/(?:^|\/)holdfast$/.test(program) && word === 'run');
}

/** Whether a command line starts the launcher of a supervised pod. */
function isLauncher([program = '']: readonly string[]): boolean {
  return program === POD_FILES.launcher;
}
