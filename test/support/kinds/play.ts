import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { realClock } from '../../../src/core/clock.ts';
import { openLedger } from '../../../src/ledger/writer.ts';
import { runCommand } from '../run-command.ts';
import { sealSteps, testRun } from '../sealed-run.ts';
import { MEMORY, tempFolder } from '../temp-folder.ts';
import { commandLines, MOVED, THINGS } from './things.ts';

/**
 * Puts one kind of thing in each place, runs every command, and prints one line of JSON for each
 * end.
 */
const [kind = '', ...places] = process.argv.slice(2);

const POD = '{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}';
const out = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** Every file below a path outside the run, with its bytes, as one text. */
function textsBelow(path: string): string {
  if (!existsSync(path)) return '';
  if (statSync(path).isFile()) return readFileSync(path, 'latin1');
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((file) => `${file.name} ${readFileSync(join(file.parentPath, file.name), 'latin1')}`).join('\n');
}

for (const place of places) {
  using run = testRun();
  using elsewhere = tempFolder(MEMORY);
  const secret = join(elsewhere.path, 'secret');
  const [copy, back] = [join(elsewhere.path, 'copy'), join(elsewhere.path, 'back')];
  for (const folder of [copy, back]) mkdirSync(folder);
  writeFileSync(secret, 'the secret of another');
  await sealSteps(run.store, 'a', 1, 2, 3);
  await runCommand(['pin', join(run.path, 'step-3')]);
  const ledger = openLedger(run.path, { attempt: 1, node: 'a', clock: realClock, onFailure: () => {} });
  ledger.append({ kind: 'note', level: 'info', code: null, sentence: 'begun' });
  await ledger.close();
  writeFileSync(join(run.path, 'pod.yaml'), POD);
  const path = join(run.path, place);
  const moved = join(elsewhere.path, MOVED);
  if (existsSync(path)) renameSync(path, moved);
  mkdirSync(dirname(path), { recursive: true });
  try {
    THINGS[kind]?.(path, secret);
  } catch (thrown) {
    out({ place, skipped: String(thrown) });
    continue;
  }
  // A folder of a run that the user names may itself be a link.
  const before = place === '.' ? null : textsBelow(moved);
  for (const line of commandLines(run.path, copy, back)) {
    out({ place, starts: line[0] });
    const { code, stdout, stderr } = await runCommand(line);
    out({
      place,
      command: line.slice(0, -1).join(' '),
      code,
      stderr: stderr.slice(-400),
      isSecretTold: (stdout + stderr).includes('the secret of'),
      isOutsideChanged: before !== null && before !== textsBelow(moved),
    });
  }
}
