import { runProcess } from '../../support/run-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { SYSTEM_PATH } from '../cluster/facility.ts';

/** Longer output is cut. */
const [MOST_LINES, LONGEST_LINE] = [40, 240];

/** Parts of the output that differ from play to play, and their replacements. */
const VARIABLE: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\w{3}, \d\d \w{3} \d{4} [\d:]+ [+\d]+/g, 'TIME'],
  [/\b[\da-f]{64}\b/g, 'ID'],
  [/[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}/g, 'UID'],
  [/\b10\.(244|96)\.\d+\.\d+\b/g, 'ADDRESS'],
  [/\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b/g, 'AGE'],
  [/\b\d+m\b/g, 'AGE'],
  [/\s+/g, ' '],
];

interface Typed {
  readonly words: string | readonly string[];
  /** The text for its standard input. */
  readonly input: unknown;
  readonly lines: string | undefined;
}

interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl in a namespace of the cluster, as a person would type it. */
export function runKubectl(cluster: Cluster, namespace: string, { words, input }: Typed): Promise<Said> {
  const args = typeof words === 'string' ? words.split(/\s+/) : words;
  const [program, ...line] = cluster.inside([...cluster.kubectlCommand, `--namespace=${namespace}`, ...args]);
  const env = { PATH: SYSTEM_PATH, HOME: cluster.folder };
  return runProcess(program ?? '', line, { env, cwd: '/', ...(input === undefined ? {} : { input: JSON.stringify(input) }) });
}

/**
 * The exit code and the output, in words that are the same in every play. `names` maps the
 * generated names to ours.
 */
export function factsOfKubectl(
  turn: number,
  { words, lines, said, names }: Omit<Typed, 'input'> & { readonly said: Said; readonly names: readonly (readonly [string, string])[] },
): readonly string[] {
  const typed = typeof words === 'string' ? words : words.join(' ');
  const wanted = new RegExp(lines ?? '');
  const named = (text: string): string => names.reduce((left, [name, word]) => left.replaceAll(name, `{${word}}`), text);
  const steady = (text: string): string => {
    return VARIABLE.reduce((left, [pattern, word]) => left.replace(pattern, word), named(text))
      .trim()
      .slice(0, LONGEST_LINE);
  };
  const told = `${said.stdout}\n${said.stderr}`
    .split('\n')
    // Kubernetes' client library logs these lines about itself.
    .filter((line) => line.trim() !== '' && !/^[IWEF]\d{4} /.test(line) && wanted.test(line))
    .map(steady)
    .slice(0, MOST_LINES);
  const number = String(turn).padStart(2, '0');
  return [`kubectl ${number} ends with ${said.code}: ${named(typed)}`, ...told.map((line) => `kubectl ${number} says: ${line}`)];
}
