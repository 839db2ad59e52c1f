import type { Content } from '../formats/reading/content.ts';
import { Findings } from '../formats/reading/findings.ts';
import { probe, promisedFormat } from '../formats/recognise.ts';
import { FILE_FORMATS } from '../formats/table.ts';
import type { Directory, Entry } from '../bytes/source/directory.ts';
import { filesNamed, inspection, once, type Unit } from '../formats/reading/unit.ts';

interface Loose {
  readonly name: string;
  readonly format: string | null;
  readonly content: Content;
  /** The findings, if there was room to keep them. */
  readonly findings: Findings | null;
}

/**
 * How much of the findings in loose files may be kept until they are judged. The rest is read again
 * then.
 */
export class KeptFindings {
  #left = 50_000;

  /** Takes room for the findings; false when there is none. */
  admit({ checks, evidence, globals }: Findings): boolean {
    this.#left -= 4 + checks.length + evidence.length + globals.size;
    return this.#left >= 0;
  }
}

/**
 * Makes checkpoints of files that no directory or set format claims. Files are one checkpoint if
 * their names differ only in the role (`model-100.pt`, `optimizer-100.pt`) or in a rank, and their
 * contents complement each other. Files of different steps, and files that are each a whole
 * checkpoint, are separate.
 */
export function groupLooseFiles(directory: Directory, entries: readonly Entry[], kept = new KeptFindings()): readonly Unit[] {
  const groups = new Map<string, Loose[]>();
  for (const { name } of entries) {
    const key = groupKey(name);
    const group = groups.get(key);
    const loose = inspectLoose(directory, name, kept);
    if (group === undefined) groups.set(key, [loose]);
    else group.push(loose);
  }
  const parts = [...groups.values()].flatMap(splitUnlessComplementary);
  return parts.map((members) => unitOf(directory, members, parts.length));
}

function inspectLoose(directory: Directory, name: string, kept: KeptFindings): Loose {
  const { format, findings } = probe.inspectFile(directory, name);
  return { name, format, content: findings.content, findings: kept.admit(findings) ? findings : null };
}

/** Words that name a role, a writer or a rank, not a checkpoint. */
const ROLE_WORDS =
  /^(pytorch|torch|tf|flax|jax|keras|adapter|model|models|module|weights?|params?|net|state|states|dict|optimizer|optim|opt|scheduler|sched|lr|rng|random|scaler|ema|trainer|training|args|rank\d*|meta|metadata|extra)$/i;

/** The rest of a name without extensions, role words and rank: equal for files of one save. */
export function groupKey(name: string): string {
  const stem = name.replace(/(\.[a-z][a-z0-9]{0,11})+$/i, '');
  return stem
    .replace(/rank[-_]?\d+/gi, 'rank')
    .split(/[-_. ]+/)
    .filter((word) => word !== '' && !ROLE_WORDS.test(word))
    .join('-');
}

/**
 * A file with weights and optimizer is a checkpoint of its own, unless the others are its ranks;
 * two files of weights are two checkpoints.
 */
function splitUnlessComplementary(group: Loose[]): readonly Loose[][] {
  if (group.length === 1 || group.every(({ name }) => /rank[-_]?\d+/i.test(name))) return [group];
  const holding = (need: 'weights' | 'optimizer') => group.filter(({ content }) => content.found[need].length > 0).length;
  const isComplementary = holding('weights') <= 1 && holding('optimizer') <= 1 && !group.some(isWhole);
  return isComplementary ? [group] : group.map((member) => [member]);
}

function isWhole({ content }: Loose): boolean {
  const { weights, optimizer } = content.found;
  return weights.length > 0 && optimizer.length > 0;
}

function unitOf(directory: Directory, members: readonly Loose[], unitsHere: number): Unit {
  const names = members.map(({ name }) => name);
  const [first] = members;
  const isGroup = names.length > 1;
  const weights = members.find(({ content }) => content.found.weights.length > 0) ?? first;
  return {
    kind: isGroup ? 'group' : 'file',
    path: isGroup && unitsHere === 1 && directory.path !== '' ? directory.path : directory.pathOf(weights?.name ?? ''),
    format: formatOf(weights),
    grouping: isGroup ? `${names.length} files whose contents complement each other: ${listed(names)}` : 'one file',
    directory,
    files: once(() => filesNamed(directory, names)),
    insideStep: members.find(({ content }) => content.steps.length > 0)?.content.steps[0]?.step ?? null,
    ...inspection(() => {
      const findings = new Findings();
      for (const { name, findings: known } of members) findings.merge(known ?? probe.inspectFile(directory, name).findings);
      return findings;
    }),
  };
}

const NAMES_LISTED = 16;

function listed(names: readonly string[]): string {
  const rest = names.length - NAMES_LISTED;
  return rest > 0 ? `${names.slice(0, NAMES_LISTED).join(', ')} and ${rest} more` : names.join(', ');
}

/**
 * The format by content. A file of no known format gets the format that its name promises, because
 * it failed to be one.
 */
function formatOf(member: Loose | undefined): Unit['format'] {
  if (member === undefined) return null;
  return FILE_FORMATS.find(({ id }) => id === member.format) ?? promisedFormat(member.name);
}
