import type { Cases } from './checks.ts';

/** As many as the suite asks for one commit. */
export const MUTANT_CASES: Cases = { seed: 1, count: 300 };

/** One mistake in a model, made on purpose. */
export interface Mutant {
  readonly check: string;
  /** What would be believed wrongly. */
  readonly belief: string;
  readonly file: string;
  /** Stands there once. */
  readonly was: string;
  readonly is: string;
}

const of =
  (check: string) =>
  (file: string, belief: string, was: string, is: string): Mutant => ({ check, file, belief, was, is });
const [scheduler, eviction, merge] = [of('scheduler'), of('eviction'), of('merge')];

/** A run with any of them must disagree. */
export const MUTANTS: readonly Mutant[] = [
  scheduler(
    'filter-model.ts',
    'a toleration’s value does not count',
    "operator === 'Exists' || value === (taint.value ?? '')",
    'value !== null',
  ),
  scheduler(
    'filter-model.ts',
    'a label that is not there is not among those excluded',
    'value === undefined || !values.includes(value)',
    'value !== undefined && !values.includes(value)',
  ),
  scheduler(
    'filter-model.ts',
    'pods of the same importance leave no node promised',
    'priorityOf(each) >= priorityOf(pod)',
    'priorityOf(each) > priorityOf(pod)',
  ),
  scheduler(
    'filter-model.ts',
    'neighbours of a pod that is promised a node are always looked at',
    'looksAtNeighbours(pod, cluster) ? ahead',
    'nodes.length > 0 ? ahead',
  ),
  scheduler(
    'filter-model.ts',
    'few domains are no reason to take the emptiest as empty',
    'counts.size < (constraint.minDomains ?? 1)',
    'counts.size < 0',
  ),
  scheduler(
    'filter-model.ts',
    'nodes with taints never count for the spread',
    "nodeTaintsPolicy === 'Ignore' ||",
    "nodeTaintsPolicy === 'Honor' &&",
  ),
  scheduler(
    'filter-model.ts',
    'the first of its kind finds no neighbours, and so no place',
    'return isFirst && meets(pod);',
    'return false;',
  ),
  scheduler('requests-model.ts', 'a sidecar ends before the main container starts', 'if (each.isSidecar) sidecars = during;', ''),
  scheduler('requests-model.ts', 'overhead does not count', 'pod.overhead ?? NOTHING);', 'NOTHING);'),
  scheduler('score-model.ts', 'what asks for nothing counts for nothing', 'amounts.memory || ASSUMED.memory', 'amounts.memory'),
  scheduler('score-model.ts', 'an image counts in full on a node that has it', '* MIB * share)', '* MIB)'),
  scheduler(
    'neighbour-score-model.ts',
    'a pod that must be near the new one is no reason to put it there',
    'const MUST_BE_NEAR = 1;',
    'const MUST_BE_NEAR = 0;',
  ),
  scheduler('preemption-model.ts', 'budgets do not count', '({ violations }) => violations,', '() => 0,'),
  scheduler(
    'preemption-model.ts',
    'the least important may stay first',
    'priorityOf(second) - priorityOf(first) ||',
    'priorityOf(first) - priorityOf(second) ||',
  ),
  scheduler(
    'preemption-model.ts',
    'the number of victims counts before their importance',
    '({ victims }) => priorityOf(victims[0]),',
    '({ victims }) => victims.length,',
  ),
  scheduler(
    'preemption-model.ts',
    'nodes without victims are told of as those that none would help',
    '[nodes.length - resolvable.length, NO_HELP]',
    '[nodes.length, NO_HELP]',
  ),
  eviction('evict-model.ts', 'of whom nothing is known goes last', 'return [0, 0, priority, 0];', 'return [2, 0, priority, 0];'),
  eviction(
    'evict-model.ts',
    'of whom nothing is known goes first under pressure of processes, too',
    '[priority, usage === null ? 0 : 1,',
    '[usage === null ? 0 : 1, priority,',
  ),
  eviction('evict-model.ts', 'who uses exactly what he asked for exceeds it', 'used > requested ? 0 : 1', 'used >= requested ? 0 : 1'),
  eviction(
    'evict-model.ts',
    'nothing is subtracted from a number of inodes',
    "(kind === 'memory' ? memory : disk) * MIB",
    "(kind === 'memory' ? memory : kind === 'disk' ? disk : 0) * MIB",
  ),
  eviction(
    'evict-model.ts',
    'priority counts before use',
    'return [1, used > requested ? 0 : 1, priority,',
    'return [1, priority, used > requested ? 0 : 1,',
  ),
  eviction(
    'evict-model.ts',
    'a disk for images holds what containers write, also where that is apart',
    "return isOfImages ? [] : ['root', 'logs', 'volume'];",
    "return isOfImages ? ['root'] : ['logs', 'volume'];",
  ),
  eviction('evict-model.ts', 'logs are with what containers write', "? ['root'] : ['logs', 'volume']", "? ['root', 'logs'] : ['volume']"),
  eviction('requests-model.ts', 'overhead counts also of what no container asks for', '(own === 0 ? 0 : own + overhead)', 'own + overhead'),
  merge(
    'merge-model.ts',
    'who updates shares what he changed',
    'const left = without(owned, new Set([...touched, ...removed]));',
    'const left = without(owned, removed);',
  ),
  merge(
    'merge-model.ts',
    'what he wants no more goes, whoever else owns it',
    'filter((path) => !claimed.has(path))',
    'filter((path) => !now.has(path))',
  ),
  merge(
    'merge-model.ts',
    'a field is named once in a conflict',
    'return { state, conflicts: conflicts.sort() };',
    'return { state, conflicts: [...new Set(conflicts)].sort() };',
  ),
  merge(
    'merge-model.ts',
    'a forced apply leaves it with its owners, too',
    '...without(others, new Set([...touched, ...removed])), [mine]: now',
    '...others, [mine]: now',
  ),
  merge('merge-model.ts', 'an item of a list is no field of its own', 'const isOwn = part.isItem || ', 'const isOwn = '),
  merge(
    'merge-model.ts',
    'what was there before anybody is known to own it is nobody’s',
    "'before-first-apply/Update': compared",
    "'somebody/Update': compared",
  ),
  merge(
    'merge-model.ts',
    'an update is recorded, also where the record was taken away',
    "how === 'update-forgetting' || Object.keys(owned).length === 0",
    "how === 'update-forgetting'",
  ),
  merge(
    'merge-model.ts',
    'what only the object has comes last',
    'const shared = config.filter((place) => live.includes(place));',
    'return [...new Set([...config, ...live])]; const shared: string[] = [];',
  ),
  merge(
    'merge-schema.ts',
    'tolerations are merged one by one',
    'tolerations: LEAF,',
    "tolerations: { is: 'list', keys: ['key'], assumed: {}, of: struct({ key: LEAF, operator: LEAF }) },",
  ),
  merge('merge-schema.ts', 'a port without a protocol is another one than that of TCP', "assumed: { protocol: 'TCP' },", 'assumed: {},'),
];
