import { cpus } from 'node:os';
import { wrap } from '../../src/cli/output/table.ts';
import type { Committer } from './commit-kills.ts';
import type { Accident } from './kills.ts';
import type { SyscallFault } from './syscalls.ts';

/** The sums over the rounds on one database. */
export interface Tally {
  rounds: number;
  items: number;
  leases: number;
  readonly accidents: Record<Accident, number>;
  readonly late: Record<string, number>;
  lost: number;
  twice: number;
  deadCommits: number;
  aside: number;
  readonly faults: string[];
}

/** The sums over the strikes of one kind. */
export interface Struck {
  /** The system calls at which one could strike. */
  possible: number;
  made: number;
  struck: number;
  readonly faults: string[];
}

/** The beginnings of the second and the third part. */
export const HEADINGS = ['## SIGKILL at every system call of a commit\n', '## A fault at the writes and syncs of a server\n'] as const;
/** Markdown wraps here; tables are excepted. */
const COLUMNS = 100;

function paragraph(text: string): string {
  return wrap(text, COLUMNS).join('\n');
}

/** The first part: accidents at random moments. */
export function killsPart(tallies: ReadonlyMap<string, Tally>, seed: number): string {
  const rows = [...tallies].map(([engine, { rounds, items, leases, lost, twice, deadCommits, aside, faults }]) => {
    return `| ${[engine, rounds, items, leases, lost, twice, deadCommits, aside, faults.length].join(' | ')} |`;
  });
  const sum = (name: Accident): number => [...tallies.values()].reduce((total, { accidents }) => total + accidents[name], 0);
  const late = [...tallies.values()].flatMap((tally) => Object.entries(tally.late));
  const lateSum = (verdict: string): number => late.reduce((total, [of, count]) => total + (of === verdict ? count : 0), 0);
  const total = (name: 'lost' | 'twice' | 'deadCommits'): number => [...tallies.values()].reduce((all, tally) => all + tally[name], 0);
  const kills = sum('kill-worker') + sum('kill-server') + sum('kill-postgres');
  return `# Queue: kills and their results

<!-- Written by \`npm run queue:kills\`. -->

${paragraph(`**${kills} processes were killed with SIGKILL while they worked on a queue. ${total('lost')} items were lost, ${total('twice')} have two results, and ${total('deadCommits')} results came from a lease that was dead.**`)}

${paragraph(`Four workers in Python, one server, real processes, real files, a real PostgreSQL. Leases last two seconds. Accidents come at random moments, and only while there are items to work on. An accident counts only if its process was alive. At the end we read every row: every item has one result, every token that was given out has an end, a result or a holder, and all counts are right. The seed of the first round is ${seed}. Machine: ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}.`)}

| database | rounds | items | leases | items lost | results twice | commits by a dead lease | set aside | faults in histories and counts |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
${rows.join('\n')}

| accident | times |
|---|---:|
| worker killed (SIGKILL) | ${sum('kill-worker')} |
| worker told to end (SIGTERM) | ${sum('term-worker')} |
| worker stopped beyond its lease (SIGSTOP), then back | ${sum('stop-worker')} |
| server killed (SIGKILL) | ${sum('kill-server')} |
| server restarted (SIGTERM) | ${sum('term-server')} |
| all connections cut | ${sum('cut')} |
| PostgreSQL killed (SIGKILL) and started again | ${sum('kill-postgres')} |

${paragraph(`After each round a worker of long ago handed in for finished items: equal bytes were accepted ${lateSum('same')} times and changed nothing, other bytes were refused ${lateSum('differs')} times, and none was written (${lateSum('write')}).`)}

`;
}

/** The second part: SIGKILL at the system calls of a commit. */
export function commitsPart(commits: ReadonlyMap<Committer, Struck>): string {
  return `${HEADINGS[0]}
${paragraph(
  `strace follows the thread that commits, from just before the commit to the call after the answer. In each run, that process is killed at another one of these calls, and another process takes over. When a server with SQLite dies, both results of its commit stand or none, and both if it had answered. At the end every acknowledged result stands, every item has one result from its newest lease, and every history adds up. A few calls differ from run to run, such as the wake-ups of threads: a kill strikes only if its call comes.`,
)}

| killed process | system calls | tried | struck | faults found |
|---|---:|---:|---:|---:|
${[...commits].map(([name, { possible, made, struck, faults }]) => `| ${WHO[name]} | ${possible} | ${made} | ${struck} | ${faults.length} |`).join('\n')}

`;
}

const WHO: Readonly<Record<Committer, string>> = {
  server: 'server',
  worker: 'worker that commits with its next request',
  'worker’s second thread': 'worker that commits while it works on the next item',
};

/** The third part: errors and kills at writes and syncs. */
export function faultsPart(syscalls: ReadonlyMap<SyscallFault, Struck>): string {
  return `${HEADINGS[1]}
${paragraph(
  `A server with SQLite takes eight items through push, lease, progress, give back and commit, under strace. In each run, another write or sync of its whole life gets a fault. A server that dies is followed by another; one that meets an error must continue by itself. At the end everything that was acknowledged must stand, and all items must be done.`,
)}

| fault | writes and syncs | tried | struck | faults found |
|---|---:|---:|---:|---:|
${[...syscalls].map(([fault, { possible, made, struck, faults }]) => `| ${fault} | ${possible} | ${made} | ${struck} | ${faults.length} |`).join('\n')}
`;
}
