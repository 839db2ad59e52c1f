import { API_CAUSES } from './api-causes.ts';
import type { Cause } from './cause.ts';
import { KUBELET_CAUSES } from './kubelet-causes.ts';
import { GIVEN_UP, LOSS_CAUSES } from './loss-causes.ts';
import type { Manner } from './training-job.ts';

/** Interruptions of a run on nodes that stay. */
export const CAUSES: readonly Cause[] = [...API_CAUSES, ...KUBELET_CAUSES];
export const REJECTED = 'its pod comes to a node under disk pressure (rejected)';
export const AWAY = 'the kubelet is away for a while, and comes back in time';

/** The cause and the trainer of a row. */
export interface RowKey {
  readonly cause: string;
  readonly manner: Manner;
}

export type TableName = 'causes' | 'node loss';

/** The tables of the page that the tests write, with their rows in order. */
export const TABLES: Readonly<Record<TableName, readonly RowKey[]>> = {
  causes: [...CAUSES.flatMap((cause) => rowsOf(cause.title, mannersOf(cause))), ...rowsOf(REJECTED, ['bare', 'binary'])],
  'node loss': [
    ...rowsOf(AWAY, ['bare', 'binary']),
    ...[GIVEN_UP, ...LOSS_CAUSES].flatMap(({ title, forms: [form] }) => rowsOf(title, ['bare', form])),
  ],
};

/** The trainers of a cause in the order of the table, controls first. */
function mannersOf({ forms, otherControls = [] }: Cause): readonly Manner[] {
  return ['bare', ...otherControls, ...forms];
}

function rowsOf(cause: string, manners: readonly Manner[]): readonly RowKey[] {
  return manners.map((manner) => ({ cause, manner }));
}
