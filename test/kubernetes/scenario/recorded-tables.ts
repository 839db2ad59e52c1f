import { API_CAUSES } from './api-causes.ts';
import type { Cause } from './cause.ts';
import { KUBELET_CAUSES } from './kubelet-causes.ts';
import { GIVEN_UP, LOSS_CAUSES } from './loss-causes.ts';
import type { Manner } from './training-job.ts';

/** What is done to a run on nodes that stay. */
export const CAUSES: readonly Cause[] = [...API_CAUSES, ...KUBELET_CAUSES];
export const REJECTED = 'its pod comes to a node under disk pressure (rejected)';
export const AWAY = 'the kubelet is away for a while, and comes back in time';

/** Which cause came to which trainer. */
export interface RowKey {
  readonly cause: string;
  readonly manner: Manner;
}

export type TableName = 'causes' | 'node loss';

/** The tables of the page that the tests write, each with all of its rows in their order. */
export const TABLES: Readonly<Record<TableName, readonly RowKey[]>> = {
  causes: [...CAUSES.flatMap((cause) => rowsOf(cause.title, mannersOf(cause))), ...rowsOf(REJECTED, ['bare', 'binary'])],
  'node loss': [
    ...rowsOf(AWAY, ['bare', 'binary']),
    ...[GIVEN_UP, ...LOSS_CAUSES].flatMap(({ title, forms: [form] }) => rowsOf(title, ['bare', form])),
  ],
};

/** In the order of the table: the controls first. */
function mannersOf({ forms, otherControls = [] }: Cause): readonly Manner[] {
  return ['bare', ...otherControls, ...forms];
}

function rowsOf(cause: string, manners: readonly Manner[]): readonly RowKey[] {
  return manners.map((manner) => ({ cause, manner }));
}
