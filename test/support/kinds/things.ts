import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The original content of the place, moved out of the run. */
export const MOVED = 'moved';

/** Every kind of thing that a path can lead to; `outside` is another user's file. */
export const THINGS: Readonly<Record<string, (path: string, outside: string) => void>> = {
  'a file of garbage': (path) => writeFileSync(path, 'garbage\0\xff{'),
  'a folder': (path) => mkdirSync(path),
  'a folder with files': (path) => {
    mkdirSync(path);
    writeFileSync(join(path, 'file'), 'x');
  },
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'an endless device': (path) => execFileSync('mknod', [path, 'c', '1', '5'], { stdio: 'pipe' }),
  'a socket': (path) => execFileSync('python3', ['-c', 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])', path]),
  'a link that leads outside': (path, outside) => symlinkSync(outside, path),
  'a link to what lay there before': (path, outside) => symlinkSync(join(dirname(outside), MOVED), path),
  'a link that leads nowhere': (path) => symlinkSync('nowhere', path),
  'a link to itself': (path) => symlinkSync(path, path),
  'a file of 4 TiB that is one hole': (path) => {
    writeFileSync(path, '');
    truncateSync(path, 4 * 1024 ** 4);
  },
  'a file that may not be read': (path) => {
    writeFileSync(path, 'secret');
    chmodSync(path, 0);
  },
};

/** The places: the path that a command gets, or a name in the folder of a run. */
export const PLACES = [
  '.',
  'step-2',
  'step-2/shard-0',
  'step-2/holdfast.manifest.json',
  'model.pt',
  'model.pt.holdfast.json',
  '.holdfast',
  '.holdfast/run.json',
  '.holdfast/last-good.json',
  '.holdfast/rollback.json',
  '.holdfast/held-for-shipping',
  '.holdfast/attempts',
  '.holdfast/attempts/1/attempt.json',
  '.holdfast/pins',
  '.holdfast/trash/entry',
  '.holdfast/quarantine/step-8/reason.json',
  '.holdfast/fetching',
  '.holdfast/shipping',
  '.holdfast/fenced',
  '.holdfast/ledger',
  '.holdfast/ledger/1-a.jsonl',
] as const;

/**
 * Every command that reads the folder of a run; `run`, `copy` and `back` are folders of the test.
 */
export function commandLines(run: string, copy: string, back: string): readonly (readonly string[])[] {
  return [
    ['verify', run],
    ['verify', '--deep', '--last-good', run],
    ['verify', join(run, 'step-2')],
    ['ls', run],
    ['ls', '--deep', run],
    ['resume', '--look-only', run],
    ['resume', '--deep', run],
    ['log', run],
    ['why', run],
    ['grace', '-f', join(run, 'pod.yaml'), '--run', run],
    ['probe', run],
    ['quarantine', run],
    ['pin', join(run, 'step-1')],
    ['unpin', join(run, 'step-1')],
    ['seal', '--accept=anything', '--step=9', join(run, 'step-9')],
    ['seal', '--accept=anything', '--step=9', join(run, 'model.pt')],
    ['ship', run, `file://${copy}`],
    ['fetch', `file://${copy}`, back],
    ['prune', '--keep=1', run],
    ['rollback', '--to=1', run],
  ];
}
