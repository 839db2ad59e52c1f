import type { CommandLine, Flag } from '../manifest/command.ts';
import type { Word } from '../manifest/word.ts';
import type { Container, Workload } from '../manifest/workload.ts';
import { get, numberAt, textAt } from '../manifest/yaml-node.ts';
import { shellCommand } from './shell-command.ts';

/** What adopt writes as backoffLimit where there is none. */
export const BACKOFF_LIMIT = 3;
/** Where c10d listens. */
const RENDEZVOUS_PORT = 29400;

/** Words of the command that change; no words take their place where they are left out. */
interface Change {
  readonly words: readonly Word[];
  readonly by: readonly string[];
  readonly note: string;
}

/**
 * The command of a container, word for word, but for what lint would find in it and what has one
 * sensible answer: how torchrun meets its peers, and syntax that only a shell reads.
 */
export function repairedWords(workload: Workload, { command }: Container, told: (note: string) => void): readonly string[] {
  const changes = [...rendezvous(workload, command), ...restarts(workload, command)];
  for (const { note } of changes) told(note);
  const { words, shell } = command;
  if (shell !== null) return words.map((word) => (word === shell.word ? inScript(shell.script, changes) : word.text));
  const changed = words.flatMap((word) => {
    const change = changes.find((one) => one.words.includes(word));
    return change === undefined ? [word.text] : word === change.words[0] ? change.by : [];
  });
  const script = shellCommand(changed);
  if (script === null) return changed;
  told('its command has shell syntax that no shell read. It runs in `sh -c` now, so its image needs a shell.');
  return ['sh', '-c', script];
}

function inScript(script: string, changes: readonly Change[]): string {
  return changes.reduce((text, { words, by }) => text.replace(words.map((word) => word.text).join(' '), () => by.join(' ')), script);
}

/** The id under which the pods of this run meet, and c10d instead of an etcd that nothing runs. */
function rendezvous(workload: Workload, command: CommandLine): readonly Change[] {
  const backend = flagOf(command, 'rdzv-backend');
  const own = flagOf(command, 'rdzv-id');
  if (backend === undefined || backend.value === 'static') return [];
  const place = meetingPlace(workload, command, backend);
  if (place === null && own !== undefined) return [];
  const name = workload.object.name ?? 'train';
  const kept = place === null ? backend.words.map(({ text }) => text) : ['--rdzv-backend=c10d'];
  const by = own === undefined ? [...kept, `--rdzv-id=${name}`] : kept;
  const note = `torchrun meets its peers under the id ${own?.value ?? name}.`;
  return [...(place === null ? [] : [place]), { words: backend.words, by, note }];
}

/** Where peers meet without an etcd; null where they meet without one already, or cannot. */
function meetingPlace(workload: Workload, command: CommandLine, { value }: Flag): Change | null {
  const endpoint = flagOf(command, 'rdzv-endpoint');
  if (value?.startsWith('etcd') !== true || endpoint === undefined) return null;
  const host = firstPod(workload);
  if (host === null) return null;
  const address = `${host}:${RENDEZVOUS_PORT}`;
  return { words: endpoint.words, by: [`--rdzv-endpoint=${address}`], note: `its peers meet at ${address}, by c10d and not by etcd.` };
}

/** The address of the pod with rank 0; null where the manifest gives it none. */
function firstPod({ object, job, pod, pods }: Workload): string | null {
  const { kind, name, root } = object;
  if (kind === 'PyTorchJob' && get(root, 'spec', 'pytorchReplicaSpecs', 'Master') !== null) return '$(MASTER_ADDR)';
  if (pods === 1) return 'localhost';
  // Each pod of a PyTorchJob has a service of its own name.
  if (kind === 'PyTorchJob') return name === null ? null : `${name}-worker-0`;
  const service = textAt(pod, 'subdomain');
  return service === null || name === null || textAt(job, 'completionMode') !== 'Indexed' ? null : `${name}-0.${service}`;
}

/** torchrun restarts its workers no more often than the Job counts errors. */
function restarts({ job, trainer }: Workload, command: CommandLine): readonly Change[] {
  const flag = flagOf(command, 'max-restarts');
  const own = trainer?.command.supervisor?.options.get('restarts')?.value;
  const budget = Math.min(BACKOFF_LIMIT, Number(own ?? numberAt(job, 'backoffLimit') ?? BACKOFF_LIMIT));
  if (flag === undefined || job === null || !(Number(flag.value) > budget)) return [];
  const note = '--max-restarts of torchrun is left out, since an error would be repeated that often before the Job counts it.';
  return [{ words: flag.words, by: [], note }];
}

function flagOf({ torchrun }: CommandLine, name: string): Flag | undefined {
  return torchrun?.flags.find((one) => one.name === name);
}
