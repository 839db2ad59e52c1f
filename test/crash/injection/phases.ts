import { createHash } from 'node:crypto';
import { SUBJECT_CHECKPOINT, type Subject } from './subjects.ts';
import type { Use } from './trace.ts';

/** The place of a system call in the protocol. */
export type Phase =
  | 'look'
  | 'attempt'
  | 'staging write'
  | 'receipt'
  | 'manifest'
  | 'rename'
  | 'pointer'
  | 'trash'
  | 'delete'
  | 'claim'
  | 'journal'
  | 'upload'
  | 'remote manifest'
  | 'remote pointer'
  | 'record'
  | 'move'
  | 'quarantine'
  | 'download';

/** The phases of each subject: a trace without one of them is incomplete. */
export const PHASES_OF: Readonly<Record<Subject, readonly Phase[]>> = {
  save: ['look', 'attempt', 'staging write', 'receipt', 'manifest', 'rename', 'pointer', 'delete'],
  seal: ['look', 'staging write', 'manifest', 'rename', 'pointer', 'delete'],
  prune: ['look', 'trash', 'delete'],
  'seal-file': ['look', 'staging write', 'manifest', 'rename', 'pointer', 'delete'],
  'seal-into': ['look', 'staging write', 'manifest', 'rename', 'move', 'pointer', 'delete'],
  'prune-files': ['look', 'trash', 'delete'],
  'quarantine-file': ['look', 'quarantine', 'pointer'],
  fetch: ['look', 'download', 'manifest', 'rename'],
  ship: ['look', 'claim', 'journal', 'upload', 'remote manifest', 'remote pointer', 'record'],
};

const STAGED = 'run/\\.holdfast/attempts/\\d+/staging';
const TEMPORARY = 'remote/\\.holdfast/uploads';

/** Uploads have the name of their key. */
function upload(key: string): string {
  return `${TEMPORARY}/${createHash('sha256').update(key).digest('hex').slice(0, 40)}`;
}

/**
 * The first match counts. Paths start below the folder of the subject; calls that move a file show
 * both of its names.
 */
const RULES: readonly (readonly [Phase, RegExp])[] = [
  ['delete', /^(unlink|unlinkat|rmdir) run\/\.holdfast\/(trash|attempts)\//],
  ['trash', /run\/\.holdfast\/trash/],
  ['quarantine', /run\/\.holdfast\/quarantine/],
  ['move', /^rename run\/export\/|^fsync run\/export$/],
  ['rename', /^rename run\/\.holdfast\/fetching\/.* run\/[^.]/],
  ['manifest', /run\/\.holdfast\/fetching\/.*holdfast\.manifest\.json/],
  ['download', /run\/\.holdfast\/fetching/],
  ['rename', new RegExp(`^rename ${STAGED}/.* run/[^.]`)],
  ['rename', /^fsync run$/],
  ['manifest', new RegExp(`${STAGED}/[^/]+/(manifest|data/holdfast\\.manifest\\.json)`)],
  ['receipt', new RegExp(`${STAGED}/[^/]+/receipts`)],
  ['staging write', new RegExp(STAGED)],
  ['staging write', /run\/(checkpoint-2|model-4|export)/],
  ['attempt', /run\/\.holdfast\/(attempts|fenced)/],
  ['pointer', /run\/\.holdfast\/last-good\.json|^fsync run\/\.holdfast$/],
  ['journal', /run\/\.holdfast\/shipping/],
  ['record', /run\/\.holdfast\/shipped/],
  [
    'claim',
    new RegExp(`remote/\\.holdfast/(run\\.json|names)|${upload('.holdfast/run.json')}|${upload(`.holdfast/names/${SUBJECT_CHECKPOINT}`)}`),
  ],
  ['remote pointer', new RegExp(`remote/\\.holdfast/last-good\\.json|${upload('.holdfast/last-good.json')}`)],
  ['remote manifest', new RegExp(`remote/[^/]+/holdfast\\.manifest\\.json|${upload(`${SUBJECT_CHECKPOINT}/holdfast.manifest.json`)}`)],
  ['upload', new RegExp(`${TEMPORARY}/|remote/step-`)],
  ['look', /^/],
];

/** Null outside the folder of the subject. */
export function phaseOf({ call, paths }: Pick<Use, 'call' | 'paths'>, work: string, subject: Subject): Phase | null {
  if (paths.length === 0 || !paths.every((path) => path === work || path.startsWith(`${work}/`))) return null;
  const told = [call, ...paths.map((path) => path.slice(work.length + 1))].join(' ');
  // A fetch only reads there.
  if (subject === 'fetch' && told.includes(' remote')) return 'look';
  return RULES.find(([, pattern]) => pattern.test(told))?.[0] ?? null;
}
