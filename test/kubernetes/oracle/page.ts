import type { Minor, OracleCheck } from './check.ts';
import type { Cases } from './checks.ts';
import { MUTANT_CASES } from './mutant-list.ts';
import type { MutantRun } from './mutants.ts';
import type { CheckRun } from './run-checks.ts';

export interface CheckedRun {
  readonly check: OracleCheck;
  readonly minor: Minor;
  readonly run: CheckRun;
  readonly seconds: number;
}

interface LongRun {
  readonly cases: Cases;
  /** Date, versions and machine of the run. */
  readonly circumstances: Readonly<Record<string, string>>;
  readonly runs: readonly CheckedRun[];
  readonly mutants: readonly MutantRun[];
}

/** The page that records the results of a long run. */
export function pageOf({ cases: { seed, count }, circumstances, runs, mutants }: LongRun): string {
  return `# Kubernetes’ own code, asked about random cases

This page compares what \`holdfast whatif\` computes with Kubernetes’ own code, in two releases, and
counts where they disagree. \`src/scheduler\` is asked as \`whatif\` asks it; server-side apply has a
model in the tests. What both had to learn is in [the
notes](../kubernetes-notes.md#where-the-code-differs-from-its-documentation).

Each case is drawn from a seed of its own. We put it to Kubernetes’ own code (its packages, linked
into a program: no cluster, no clock), and to ours. A disagreement is an answer that differs.

| | |
|---|---|
| seeds | ${seed} to ${seed + count - 1} |
${Object.entries(circumstances)
  .map(([of, what]) => `| ${of} | ${what} |`)
  .join('\n')}

The program and the cases are named for the hash of their sources. When one of them changes, this
page is out of date, and a test says so. \`src/scheduler\` changes more often, so the suite asks it a
slice of these cases for every commit, in the release that the test clusters run.

| of | release | cases | questions | disagreements | seconds |
|---|---|---:|---:|---:|---:|
${runs.map(({ check: { name, about }, minor, run, seconds }) => `| **${name}**: ${about} | 1.${minor} | ${run.cases} | ${run.questions} | ${run.disagreements.length} | ${seconds} |`).join('\n')}

The outcomes show that the cases are about something:

| of | release | outcome | cases |
|---|---|---|---:|
${runs.flatMap(({ check: { name }, minor, run: { outcomes } }) => [...tally(outcomes)].map(([what, times]) => `| ${name} | 1.${minor} | ${what} | ${times} |`)).join('\n')}

## Wrong on purpose

If no case shows a mistake in our code, we would not notice our own mistakes either. So we make it
wrong on purpose, in one place at a time, and ask ${MUTANT_CASES.count} cases, from seed ${MUTANT_CASES.seed} on. The suite does the same
for every commit. The last column says in how many cases the real code disagrees.

| of | release | the mistake | cases that show it |
|---|---|---|---:|
${mutants.map(({ mutant: { check, minor, belief }, found }) => `| ${check} | 1.${minor} | ${belief} | ${found} |`).join('\n')}

## How to do it again, and what is not compared

\`npm run oracles:long -- --seed=${seed} --count=${count} --record=docs/proofs/kubernetes-oracles.md\` makes
this page again. \`npm run test:kubernetes\` asks 1.35 a slice of these cases, a different one for
every commit, and its name says which. To build the program for 1.37 takes minutes, so only the long
run asks it. To ask one case again, use its seed: \`npm run oracles:long -- --seed=4711 --count=1\`.

No case has these, so they are not compared:

- **Scheduler, pods:** volumes and claims (their plugins are left out), pods that were promised a
  node before and come again, requests of a pod as a whole, and requests of zero that are written
  down.
- **Scheduler, placement:** namespaces by their labels, selectors with more than one label,
  \`matchLabelKeys\`, and spreading that a pod does not ask for itself.
- **Scheduler, PodGroups:** the queue (when a group is tried at all), composite groups, topology
  constraints, members that were promised a node before, and two budgets for one pod of a group.
  Where several nodes have the same score, both take the first, and the scheduler takes any. The
  real code answers about one case in ten thousand in two ways, by the order of its maps: such a
  case is asked up to five times, and one answer must be ours.
- **Eviction:** we compare only the order. We do not compare which signal the kubelet acts on first,
  thresholds and graces, and which pods it spares because they are critical.
- **Server-side apply:** other kinds than these two, one kind in several versions, empty lists, and
  what a server does besides merging: defaults, validation, subresources.

The objects are untyped here, unlike those of a server. A field that an apply leaves empty is null
here until the next step, so the same apply again may change the object once more. A server stores
no null. There the same apply again changed nothing, not even the object's version. We tried that by
hand, with a ConfigMap and a Deployment.
`;
}

/** How often each word occurs, the most frequent first. */
function tally(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].sort(([, first], [, second]) => second - first));
}
