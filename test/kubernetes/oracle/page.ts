import type { OracleCheck } from './check.ts';
import type { Cases } from './checks.ts';
import type { CheckRun } from './run-checks.ts';

export interface LongRun {
  readonly cases: Cases;
  /** As an ISO date. */
  readonly date: string;
  /** Of what was asked, and by what. */
  readonly versions: Readonly<Record<string, string>>;
  readonly runs: readonly (readonly [OracleCheck, CheckRun])[];
}

/** The page that keeps what a long run found. */
export function pageOf({ cases: { seed, count }, date, versions, runs }: LongRun): string {
  return `# Kubernetes’ own code, asked about random cases

Each case is drawn from a seed of its own, put to Kubernetes’ own code (its packages, linked into a program: no cluster, no clock), and to a small model of the rule as it is written
down. A disagreement would be an answer that is otherwise than the model’s. What the models had to learn for that stands in
[the notes](kubernetes-notes.md#where-the-code-is-not-what-people-write).

| | |
|---|---|
| date | ${date} |
| seeds | ${seed} to ${seed + count - 1} |
${Object.entries(versions)
  .map(([of, version]) => `| ${of} | ${version} |`)
  .join('\n')}

| of | cases | questions | disagreements |
|---|---:|---:|---:|
${runs.map(([{ name, about }, run]) => `| **${name}**: ${about} | ${run.cases} | ${run.questions} | ${run.disagreements.length} |`).join('\n')}

What came of them, so that it can be seen that the cases are about something:

| of | what came of it | cases |
|---|---|---:|
${runs.flatMap(([{ name }, { outcomes }]) => [...tally(outcomes)].map(([what, times]) => `| ${name} | ${what} | ${times} |`)).join('\n')}

\`npm run oracles:long -- --seed=${seed} --count=${count} --record=docs/kubernetes-oracles.md\` makes this page again. \`npm run test:kubernetes\` asks a slice of these cases, another one for
every commit; its name says which. One case is asked again by its seed: \`npm run oracles:long -- --seed=4711 --count=1\`.

Not compared: what the scheduler asks about volumes and claims (no case has any, and those plugins are left out), pods that are ending, spreading that a pod does not ask for itself;
server-side apply of other kinds than these two, of one kind in several versions, and of empty lists.
`;
}

/** How often each was said, the most frequent first. */
function tally(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].sort(([, first], [, second]) => second - first));
}
