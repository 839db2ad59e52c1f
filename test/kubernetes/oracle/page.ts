import type { OracleCheck } from './check.ts';
import type { Cases } from './checks.ts';
import { MUTANT_CASES } from './mutant-list.ts';
import type { MutantRun } from './mutants.ts';
import type { CheckRun } from './run-checks.ts';

export interface CheckedRun {
  readonly check: OracleCheck;
  readonly run: CheckRun;
  readonly seconds: number;
}

interface LongRun {
  readonly cases: Cases;
  /** When, of what, by what, and on what machine. */
  readonly circumstances: Readonly<Record<string, string>>;
  readonly runs: readonly CheckedRun[];
  readonly mutants: readonly MutantRun[];
}

/** The page that keeps what a long run found. */
export function pageOf({ cases: { seed, count }, circumstances, runs, mutants }: LongRun): string {
  return `# Kubernetes’ own code, asked about random cases

Each case is drawn from a seed of its own, put to Kubernetes’ own code (its packages, linked into a program: no cluster, no clock), and to a small model of the rule as it is written
down. A disagreement would be an answer that is otherwise than the model’s. What the models had to learn for that stands in
[the notes](kubernetes-notes.md#where-the-code-is-not-what-people-write).

| | |
|---|---|
| seeds | ${seed} to ${seed + count - 1} |
${Object.entries(circumstances)
  .map(([of, what]) => `| ${of} | ${what} |`)
  .join('\n')}

The program and the models are named for the hash of their sources: with other ones this page is out of date, and a test says so.

| of | cases | questions | disagreements | seconds |
|---|---:|---:|---:|---:|
${runs.map(({ check: { name, about }, run, seconds }) => `| **${name}**: ${about} | ${run.cases} | ${run.questions} | ${run.disagreements.length} | ${seconds} |`).join('\n')}

What came of them, so that it can be seen that the cases are about something:

| of | what came of it | cases |
|---|---|---:|
${runs.flatMap(({ check: { name }, run: { outcomes } }) => [...tally(outcomes)].map(([what, times]) => `| ${name} | ${what} | ${times} |`)).join('\n')}

## Wrong on purpose

A mistake that no case brings to light would not be found if it were ours. So the models are made wrong on purpose, in one place at a time, and ${MUTANT_CASES.count} cases are asked, as many as the
suite asks for one commit (here from seed ${MUTANT_CASES.seed} on): in so many of them the real code disagrees.

| of | what the model believes wrongly | cases that show it |
|---|---|---:|
${mutants.map(({ mutant: { check, belief }, found }) => `| ${check} | ${belief} | ${found} |`).join('\n')}

## Again, and what is not compared

\`npm run oracles:long -- --seed=${seed} --count=${count} --record=docs/kubernetes-oracles.md\` makes this page again. \`npm run test:kubernetes\` asks a slice of these cases, another one for
every commit; its name says which. One case is asked again by its seed: \`npm run oracles:long -- --seed=4711 --count=1\`.

Not compared, for no case has it:

- scheduler: volumes and claims (their plugins are left out), pods that are ending, pods that have been promised a node before and come again, nodes wanted by name (\`matchFields\`), namespaces other
  than one, selectors other than one label, \`matchLabelKeys\`, spreading that a pod does not ask for itself, requests of a pod as a whole, and requests of zero that are written down. Of what is
  said of a node that is refused the plugin and the code are compared and not the words; of what a preemption says only what is its own;
- eviction: which signal is acted on first, thresholds and graces, and whom the kubelet spares because he is critical: only the order;
- server-side apply: other kinds than these two, one kind in several versions, empty lists, and what a server does beside merging: defaults, validation,
  subresources. The objects are untyped here, and a server's are not: what an apply leaves empty is null here until the next step, so that the same apply again may change the object once
  more. A server stores no null, and there the same apply again changed nothing, nor the object's version (tried by hand with a ConfigMap and a Deployment).
`;
}

/** How often each was said, the most frequent first. */
function tally(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].sort(([, first], [, second]) => second - first));
}
