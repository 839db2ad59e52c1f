import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { toError } from '../../../src/core/errors.ts';
import { whyNotBuilt } from '../cluster/facility.ts';

const SETUP = fileURLToPath(new URL('../setup.sh', import.meta.url));
/** Many times what it takes on a busy machine: to begin with, and for each line. */
const [START_MS, LINE_MS] = [120_000, 100];
const LONGEST_SHOWN = 200;

interface Asking {
  /** The program that is asked; the one that `setup.sh` has built unless told. */
  readonly program?: string;
  /** How long all of the answers may take. */
  readonly limitMs?: number;
}

/** Why Kubernetes' own code cannot be asked here, or null. It needs no root, only what is built. */
export function whyNoOracle(): string | null {
  return whyNotBuilt();
}

/** Asks Kubernetes' own code, in a process of its own, and gives its verdicts in the order of the questions. */
export async function askOracle(questions: readonly object[]): Promise<readonly unknown[]> {
  const answers = await answersTo(questions.map((question, id) => JSON.stringify({ id, ...question })));
  return answers.map((answer, index) => {
    const { id, ...verdict } = answer as { readonly id?: number };
    if (id !== index) throw new Error(`the oracle has answered question ${index} with the answer to ${id}`);
    return verdict;
  });
}

/** What it says to lines, whatever stands in them: to each one answer. */
export async function answersTo(lines: readonly (string | Buffer)[], asking: Asking = {}): Promise<readonly unknown[]> {
  const { program = builtProgram(), limitMs = START_MS + lines.length * LINE_MS } = asking;
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'], timeout: limitMs, killSignal: 'SIGKILL' });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, signal) => resolve(howEnded(code, signal, limitMs)));
  });
  const answers: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => answers.push(line));
  // Whoever dies before it has read everything is told by how it ended.
  child.stdin.on('error', () => {});
  for (const line of lines) {
    child.stdin.write(line);
    child.stdin.write('\n');
  }
  child.stdin.end();
  const how = await ended;
  if (how === '' && answers.length === lines.length) return answers.map(parsed);
  const next = lines[answers.length];
  const at = next === undefined ? '' : `; the next line is ${String(next).slice(0, LONGEST_SHOWN)}`;
  throw new Error(`the oracle (${program}) ${how || 'ended'} after ${answers.length} answers to ${lines.length} lines${at}`);
}

/** The path of the program that `setup.sh` has built. */
export function builtProgram(): string {
  return execFileSync(SETUP, ['--find', 'oracle'], { encoding: 'utf8' }).trim();
}

/** Empty when it ended as it should. */
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
