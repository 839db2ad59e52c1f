import type { Minor } from './check.ts';
import type { Cases } from './checks.ts';

/** The number of cases that the suite asks for one commit. */
export const MUTANT_CASES: Cases = { seed: 1, count: 500 };

/** One mistake in our code, made on purpose. */
export interface Mutant {
  readonly check: string;
  /** The release whose answers are compared. */
  readonly minor: Minor;
  /** The wrong belief. */
  readonly belief: string;
  readonly file: string;
  /** The text to replace; it occurs once in the file. */
  readonly was: string;
  readonly is: string;
}

const of =
  (check: string, folder: string, minor: Minor = 35) =>
  (file: string, belief: string, was: string, is: string): Mutant => ({ check, minor, file: folder + file, belief, was, is });
const scheduler = of('scheduler', 'src/scheduler/');
const newScheduler = of('scheduler', 'src/scheduler/', 37);
const grouped = of('groups', 'src/scheduler/', 37);
const eviction = of('eviction', 'src/scheduler/');
const merge = of('merge', 'test/kubernetes/oracle/');

/** A run with any of these must find a disagreement. */
export const MUTANTS: readonly Mutant[] = [
  scheduler(
    'objects/toleration.ts',
    'a toleration’s value does not count',
    "(operator === 'Equal' && value === taint.value)",
    "operator === 'Equal'",
  ),
  scheduler(
    'objects/selector.ts',
    'a missing label is not among the excluded ones',
    'value === undefined || !values.includes(value)',
    'value !== undefined && !values.includes(value)',
  ),
  scheduler(
    'filter/filters.ts',
    'pods of the same priority keep no promised node',
    'each.pod.priority >= pod.priority',
    'each.pod.priority > pod.priority',
  ),
  scheduler(
    'filter/filters.ts',
    'room is looked for before host ports',
    '  portsAreFree,\n  resourcesFit,',
    '  resourcesFit,\n  portsAreFree,',
  ),
  scheduler(
    'objects/affinity.ts',
    'pods of every namespace count as neighbours',
    'namespaces.includes(pod.namespace) ||',
    'namespaces.length > 0 ||',
  ),
  scheduler(
    'filter/neighbours.ts',
    'the first pod of a group finds no neighbours, and so no node',
    'return this.#near.size === 0 &&',
    'return this.#near.size < 0 &&',
  ),
  scheduler(
    'filter/spread.ts',
    'too few domains do not make the emptiest one count as empty',
    'own.domains < minDomains',
    'own.domains < 0',
  ),
  scheduler(
    'filter/spread.ts',
    'a pod counts for a spread whose selector it does not match',
    '(selects(selector, pod.labels) ? 1 : 0)',
    '1',
  ),
  scheduler(
    'filter/resources-fit.ts',
    'a node that has exactly what the pod asks for can never take it',
    'asked > node.capacity(column)',
    'asked >= node.capacity(column)',
  ),
  scheduler('objects/pod-requests.ts', 'a sidecar ends before the main container starts', 'if (isSidecar) sidecars = during;', ''),
  scheduler('objects/pod-requests.ts', 'overhead does not count', 'all: sumOf(asked, overhead),', 'all: asked,'),
  scheduler('objects/pod-requests.ts', 'a container without a memory request counts as zero', 'memory: 200 * 2 ** 20', 'memory: 0'),
  scheduler('score/image-scores.ts', 'an image counts in full on a node that has it', ' * (shares[index] as number)', ''),
  scheduler(
    'score/neighbour-scores.ts',
    'a pod that must be near the new one adds nothing to the score',
    'const MUST_BE_NEAR = 1;',
    'const MUST_BE_NEAR = 0;',
  ),
  scheduler('preempt/choose.ts', 'PodDisruptionBudgets do not count', 'return [violations, victims[0]', 'return [0, victims[0]'),
  scheduler(
    'preempt/choose.ts',
    'the priorities of the victims do not count',
    'victims[0]?.priority ?? 0, sum, victims.length,',
    'victims.length, 0, 0,',
  ),
  scheduler(
    'preempt/preemption-unit.ts',
    'pods of the lowest priority are spared first',
    'return second.priority - first.priority;',
    'return first.priority - second.priority;',
  ),
  scheduler(
    'preempt/budget-violations.ts',
    'a disruption that a budget has counted already counts again',
    '!disrupted.has(pod.name) && ',
    '',
  ),
  scheduler(
    'preempt/preempt.ts',
    'nodes that no preemption would help are left out of the message',
    'noPreemptionMessage(refusals)',
    'noPreemptionMessage(refusals.filter((each) => each !== NOT_HELPFUL))',
  ),
  scheduler('place/nowhere-message.ts', 'the message lists reasons in the order of the nodes', '.sort(byBytes)', ''),
  newScheduler(
    'objects/release.ts',
    'the balance does not compare with the node as it was',
    'balanceComparesBefore: 36',
    'balanceComparesBefore: 38',
  ),
  newScheduler('objects/release.ts', 'a preemption that succeeds says nothing', 'saysPotentialPlacement: 37', 'saysPotentialPlacement: 38'),
  newScheduler(
    'objects/release.ts',
    'a pod counts for every budget, also after one that it violates',
    'budgetsStopAtFirst: 37',
    'budgetsStopAtFirst: 38',
  ),
  grouped(
    'objects/pod-group.ts',
    'members of a PodGroup that goes together are evicted one by one',
    "goesTogether: at(spec, 'disruptionMode', 'all') !== undefined",
    'goesTogether: false',
  ),
  grouped(
    'preempt/preemption-unit.ts',
    'a member of a PodGroup is spared no sooner than a plain pod',
    'isOfGroup: cluster.rules.canGroup && pod.group !== null',
    'isOfGroup: false',
  ),
  grouped(
    'preempt/preemption-unit.ts',
    'a small PodGroup is spared before a large one',
    'return second.members.length - first.members.length;',
    'return first.members.length - second.members.length;',
  ),
  grouped('preempt/preempt-group.ts', 'images count where a PodGroup preempts', '{ ignoresImages: true }', '{}'),
  grouped(
    'preempt/preempt-group.ts',
    'a PodGroup evicts everything that is less important',
    'if (fits()) spared.push(unit);',
    'if (spared.length < 0) spared.push(unit);',
  ),
  grouped(
    'place/place-group.ts',
    'members that are on nodes do not count',
    '[[...cluster.members(group.key)].length, members.length]',
    '[0, members.length]',
  ),
  eviction('evict/rank.ts', 'a pod without usage figures goes last', 'usage === null ? [0, 0,', 'usage === null ? [2, 0,'),
  eviction(
    'evict/rank.ts',
    'a pod without usage figures goes first under pressure of processes, too',
    '[pod.priority, usage === null ? 0 : 1,',
    '[usage === null ? 0 : 1, pod.priority,',
  ),
  eviction('evict/rank.ts', 'a pod that uses exactly its request exceeds it', 'used > requested', 'used >= requested'),
  eviction(
    'evict/rank.ts',
    'nothing is subtracted from a number of inodes',
    "(kind === 'memory' ? memory : disk)",
    "(kind === 'memory' ? memory : kind === 'disk' ? disk : 0)",
  ),
  eviction(
    'evict/rank.ts',
    'priority counts before use',
    '[1, exceeds === true ? 0 : 1, pod.priority,',
    '[1, pod.priority, exceeds === true ? 0 : 1,',
  ),
  eviction(
    'evict/pressure.ts',
    'a disk for images holds what containers write, even where that is elsewhere',
    "return isOfImages ? [] : ['root', 'logs', 'volume'];",
    "return isOfImages ? ['root'] : ['logs', 'volume'];",
  ),
  eviction(
    'evict/pressure.ts',
    'logs lie with what containers write',
    "? ['root'] : ['logs', 'volume']",
    "? ['root', 'logs'] : ['volume']",
  ),
  eviction(
    'objects/pod-requests.ts',
    'overhead counts even for a resource that no container requests',
    'new Map([...asked].map(([name, amount]) => [name, amount === 0 ? 0 : amount + (overhead.get(name) ?? 0)]))',
    'sumOf(asked, overhead)',
  ),
  merge(
    'merge-model.ts',
    'an update shares the fields that it changed with their owners',
    'const left = without(owned, new Set([...touched, ...removed]));',
    'const left = without(owned, removed);',
  ),
  merge(
    'merge-model.ts',
    'a field that an apply drops goes, even if others own it',
    'filter((path) => !claimed.has(path))',
    'filter((path) => !now.has(path))',
  ),
  merge(
    'merge-model.ts',
    'a conflict names a field only once',
    'return { state, conflicts: conflicts.sort() };',
    'return { state, conflicts: [...new Set(conflicts)].sort() };',
  ),
  merge(
    'merge-model.ts',
    'a forced apply leaves a field with its other owners, too',
    '...without(others, new Set([...touched, ...removed])), [mine]: now',
    '...others, [mine]: now',
  ),
  merge('merge-model.ts', 'an item of a list is not a field of its own', 'const isOwn = part.isItem || ', 'const isOwn = '),
  merge(
    'merge-model.ts',
    'a field from before the first known owner has no owner',
    "'before-first-apply/Update': compared",
    "'somebody/Update': compared",
  ),
  merge(
    'merge-model.ts',
    'an update is recorded even after the record was removed',
    "how === 'update-forgetting' || Object.keys(owned).length === 0",
    "how === 'update-forgetting'",
  ),
  merge(
    'merge-model.ts',
    'items that only the object has come last',
    'const shared = config.filter((place) => live.includes(place));',
    'return [...new Set([...config, ...live])]; const shared: string[] = [];',
  ),
  merge(
    'merge-schema.ts',
    'tolerations are merged one by one',
    'tolerations: LEAF,',
    "tolerations: { is: 'list', keys: ['key'], assumed: {}, of: struct({ key: LEAF, operator: LEAF }) },",
  ),
  merge(
    'merge-schema.ts',
    'a port without a protocol differs from the same port with TCP',
    "assumed: { protocol: 'TCP' },",
    'assumed: {},',
  ),
];
