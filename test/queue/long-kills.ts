import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findStrace } from '../crash/injection/strace.ts';
import { ROOT } from '../support/run-process.ts';
import { COMMITTERS, type Committer, killAtCommit, planCommitKills } from './commit-kills.ts';
import { ACCIDENTS, type KillReport, playKills } from './kills.ts';
import { commitsPart, faultsPart, HEADINGS, killsPart, type Struck, type Tally } from './kills-page.ts';
import { findPostgres, PostgresServer } from './postgres-server.ts';
import { injectSyscall, planSyscalls, SYSCALL_FAULTS, type SyscallFault } from './syscalls.ts';

/**
 * Plays many rounds of kills on both databases, then a kill at every system call of a commit, then
 * a fault at the writes and syncs of a server, and records the results. `--rounds=0`, `--commits=0`
 * or `--syscalls=0` leaves the record of that part as it is. `--strands=3` plays three rounds at a
 * time.
 */
const PAGE = join(ROOT, 'docs/proofs/queue-kills.md');
const PER_ROUND = 100;
/** The system calls that are tried at the same time. */
const AT_ONCE = 4;

const options = new Map(process.argv.slice(2).map((word) => (/^--(\w+)=(\d+)$/.exec(word) ?? []).slice(1, 3) as [string, string]));
const rounds = Number(options.get('rounds') ?? 14);
const seed = Number(options.get('seed') ?? 100);
/** Rounds at the same time, each with servers and workers of its own. */
const strands = Number(options.get('strands') ?? 1);
const [mostKills, mostFaults] = ['commits', 'syscalls'].map((name) => Number(options.get(name) ?? Infinity)) as [number, number];

const tallies = new Map<string, Tally>();
const none = (): Struck => ({ possible: 0, made: 0, struck: 0, faults: [] });
const commits = new Map<Committer, Struck>(COMMITTERS.map((name) => [name, none()]));
const syscalls = new Map<SyscallFault, Struck>(SYSCALL_FAULTS.map((name) => [name, none()]));

const found = findPostgres();
const left = Array.from({ length: rounds }, (_, round) => round);
await Promise.all(Array.from({ length: strands }, playRounds));

const tracer = findStrace();
if ('path' in tracer && mostKills > 0) {
  for (const [committer, tally] of commits) {
    const planned = await planCommitKills(tracer.path, committer);
    await strike(spread(planned, mostKills), { of: () => tally, strikeOne: (kill) => killAtCommit(tracer.path, kill) });
    tally.possible = planned.length;
    record();
  }
}
if ('path' in tracer && mostFaults > 0) {
  const planned = await planSyscalls(tracer.path);
  for (const { fault } of planned) tallyOf(fault).possible += 1;
  const strikeOne = (injection: (typeof planned)[number]): Promise<End> => injectSyscall(tracer.path, injection);
  await strike(spread(planned, mostFaults), { of: ({ fault }) => tallyOf(fault), strikeOne });
}
const all = [...tallies.values(), ...commits.values(), ...syscalls.values()];
if (all.some(({ faults }) => faults.length > 0)) process.exitCode = 1;

async function playRounds(): Promise<void> {
  for (let round = left.shift(); round !== undefined; round = left.shift()) {
    const isPostgres = round % 2 === 0 && 'bin' in found;
    await using postgres = isPostgres ? await PostgresServer.start(found.bin) : null;
    const report = await playKills({ seed: seed + round, count: PER_ROUND, postgres });
    add(isPostgres ? 'PostgreSQL' : 'SQLite', report);
    record();
    for (const fault of report.faults) console.error(fault);
    console.log(`round ${round + 1} of ${rounds}: ${report.items} items, ${report.leases} leases, ${report.faults.length} faults`);
  }
}

interface End {
  readonly faults: readonly string[];
  readonly wasStruck: boolean;
}

/** If only some are wanted, they are spread evenly. */
function spread<T>(planned: readonly T[], most: number): T[] {
  const step = Math.max(1, Math.ceil(planned.length / most));
  return planned.filter((_, i) => i % step === 0);
}

/** Strikes some at the same time, each with files and a server of its own. */
async function strike<T>(waiting: T[], { of, strikeOne }: { of: (one: T) => Struck; strikeOne: (one: T) => Promise<End> }): Promise<void> {
  const some = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const { faults, wasStruck } = await strikeOne(one);
      const tally = of(one);
      tally.made += 1;
      if (wasStruck) tally.struck += 1;
      tally.faults.push(...faults);
      for (const fault of faults) console.error(fault);
      record();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}

function tallyOf(fault: SyscallFault): Struck {
  return syscalls.get(fault) ?? none();
}

function add(engine: string, report: KillReport): void {
  const tally = tallies.get(engine) ?? emptyTally();
  tallies.set(engine, tally);
  tally.rounds += 1;
  for (const name of ['items', 'leases', 'lost', 'twice', 'deadCommits', 'aside'] as const) tally[name] += report[name];
  for (const name of ACCIDENTS) tally.accidents[name] += report.accidents[name];
  for (const [verdict, count] of Object.entries(report.lateCommits)) tally.late[verdict] = (tally.late[verdict] ?? 0) + count;
  tally.faults.push(...report.faults);
}

function emptyTally(): Tally {
  const accidents = Object.fromEntries(ACCIDENTS.map((name) => [name, 0])) as Tally['accidents'];
  return { rounds: 0, items: 0, leases: 0, accidents, late: {}, lost: 0, twice: 0, deadCommits: 0, aside: 0, faults: [] };
}

/** Writes the parts that this run plays; the others stay. */
function record(): void {
  const [commitsAt, faultsAt] = HEADINGS;
  const [kills = '', rest = ''] = readFileSync(PAGE, 'utf8').split(commitsAt);
  const [killed = '', faulty = ''] = rest.split(faultsAt);
  const parts = [
    rounds > 0 ? killsPart(tallies, seed) : kills,
    mostKills > 0 ? commitsPart(commits) : `${commitsAt}${killed}`,
    mostFaults > 0 ? faultsPart(syscalls) : `${faultsAt}${faulty}`,
  ];
  mkdirSync(dirname(PAGE), { recursive: true });
  writeFileSync(PAGE, parts.join(''));
}
