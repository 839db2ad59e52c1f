import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { toError } from '../../../src/core/errors.ts';
import { whyNotBuilt } from '../cluster/facility.ts';
import type { Minor } from './check.ts';

const SETUP = fileURLToPath(new URL('../setup.sh', import.meta.url));
/** The limits for the start and for each line: many times what a busy machine needs. */
const [START_MS, LINE_MS] = [120_000, 100];
const LONGEST_SHOWN = 200;
/** The release of the test clusters; its program is built together with them. */
const CLUSTER_MINOR: Minor = 35;

/**
 * Why Kubernetes' own code cannot be asked here, or null. It must be built; it does not need root.
 */
export function whyNoOracle(): string | null {
  return whyNotBuilt();
}

/**
 * Asks a release of Kubernetes in a separate process. The verdicts come in the order of the
 * questions.
 */
export async function askOracle(
  questions: readonly object[],
  { minor, gates = [] }: { readonly minor: Minor; readonly gates?: readonly string[] },
): Promise<readonly unknown[]> {
  const lines = questions.map((question, id) => JSON.stringify({ id, ...question }));
  const answers = await answersTo(lines, { program: builtProgram(minor), gates });
  return answers.map((answer, index) => {
    const { id, ...verdict } = answer as { readonly id?: number };
    if (id !== index) throw new Error(`the oracle has answered question ${index} with the answer to ${id}`);
    return verdict;
  });
}

interface Program {
  readonly program: string;
  /** The feature gates to turn on. */
  readonly gates: readonly string[];
}

/** The program's answers to these lines: one for each, whatever a line contains. */
async function answersTo(lines: readonly string[], { program, gates }: Program): Promise<readonly unknown[]> {
  const limitMs = START_MS + lines.length * LINE_MS;
  const child = spawn(program, gates, { stdio: ['pipe', 'pipe', 'inherit'], timeout: limitMs, killSignal: 'SIGKILL' });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, signal) => resolve(howEnded(code, signal, limitMs)));
  });
  const answers: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => answers.push(line));
  // If the program dies before it has read everything, its exit status is reported.
  child.stdin.on('error', () => {});
  for (const line of lines) {
    child.stdin.write(line);
    child.stdin.write('\n');
  }
  child.stdin.end();
  const how = await ended;
  if (how === '' && answers.length === lines.length) return answers.map(parsed);
  const next = lines[answers.length];
  const at = next === undefined ? '' : `; the next line is ${next.slice(0, LONGEST_SHOWN)}`;
  throw new Error(`the oracle (${program}) ${how || 'ended'} after ${answers.length} answers to ${lines.length} lines${at}`);
}

/** The path of the program that `setup.sh` builds for a release. */
export function builtProgram(minor: Minor): string {
  return runSetup('--find', minor);
}

/** Builds the program for a release, where that is not done yet. Output goes to standard error. */
export function buildProgram(minor: Minor): string {
  return runSetup('--with', minor);
}

function runSetup(how: '--find' | '--with', minor: Minor): string {
  const name = minor === CLUSTER_MINOR ? 'oracle' : `oracle-${minor}`;
  return execFileSync(SETUP, [how, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

/** How the process ended; empty when it ended well. */
function howEnded(code: number | null, signal: string | null, limitMs: number): string {
  if (code === 0) return '';
  return signal === 'SIGKILL'
    ? `was ended by ${signal}, as it is when it takes longer than ${limitMs / 1000} s,`
    : `ended with ${code ?? signal}`;
}

function parsed(line: string, index: number): unknown {
  try {
    return JSON.parse(line);
  } catch (thrown) {
    throw new Error(`answer ${index} of the oracle is ${line.slice(0, LONGEST_SHOWN)}: ${toError(thrown).message}`, { cause: thrown });
  }
}
