/** Why the pods of a job run without the supervisor, and how to change that. */
export const REFUSALS = {
  NO_IMAGE: 'Start the operator with --image=IMAGE, the image that holds it.',
  ALREADY_SUPERVISED: 'Remove the annotation, or remove holdfast run from the command.',
  NO_COMMAND: 'Write the ENTRYPOINT of the image into the container’s command.',
  NO_VOLUME:
    'Mount a PersistentVolumeClaim, or name a folder with holdfast.dev/dir; with holdfast.dev/ship a folder on an emptyDir is enough for one pod.',
  SEVERAL_VOLUMES: 'Name the folder of the run with holdfast.dev/dir.',
  VOLUME_NOT_SHARED: 'Mount one ReadWriteMany claim in the pods of all roles, and name a folder on it with holdfast.dev/dir.',
  ELASTIC:
    'Give the job a fixed number of pods that restart together: no elasticPolicy, dynamic worker, parameter server or holdfast.dev/restart=replica.',
  WATCH_SEVERAL_NODES: 'Use the Python package in the trainer, and remove holdfast.dev/watch.',
  FOLDER_INVALID: 'Give one absolute path, in holdfast.dev/dir or in holdfast.dev/watch.',
  SHIP_INVALID: 'Give s3://BUCKET/PREFIX or gs://BUCKET/PREFIX in holdfast.dev/ship.',
  PATH_TAKEN: 'Mount that volume elsewhere, or give it another name.',
  NOEXEC: 'Mount the disk of the nodes’ kubelets without noexec, and create the job again.',
  NOT_RUNNABLE: 'Use an image with glibc 2.28 or newer for x86-64, and create the job again.',
} as const;

/** A stable code of {@link REFUSALS}. */
export type RefusalCode = keyof typeof REFUSALS;

/** One reason, as a sentence about the job. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly what: string;
}

/** What an event says: each reason, and how to change it. */
export function refusalText(refusals: readonly Refusal[]): string {
  return `pods run without the supervisor: ${refusals.map(({ code, what }) => `${what} (${code}). ${REFUSALS[code]}`).join(' ')}`;
}
