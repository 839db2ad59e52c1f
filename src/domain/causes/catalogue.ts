import { CLUSTER_CAUSES } from './cluster-causes.ts';
import { PROGRAM_CAUSES } from './program-causes.ts';
import type { CauseKind } from './cause-kind.ts';

/**
 * Every cause that ends a pod, by its stable code. `why` names one of them, or `CANNOT_TELL` if
 * none is proven.
 */
export const END_CAUSES = { ...CLUSTER_CAUSES, ...PROGRAM_CAUSES } as const satisfies Readonly<Record<string, CauseKind>>;

/** The code of a cause in {@link END_CAUSES}. */
export type EndCause = keyof typeof END_CAUSES;
