import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { realClock } from '../../../src/core/clock.ts';
import { runCommand } from '../run-command.ts';
import { tempFolder } from '../temp-folder.ts';
import { NAMED } from './named-files.ts';
import { THINGS } from './things.ts';

/** Passes one kind of thing to each option, and prints one line of JSON for each command's end. */
const [kind = '', ...names] = process.argv.slice(2);

const out = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const server = createServer((socket) => socket.destroy());
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port: taken } = server.address() as AddressInfo;

for (const name of names) {
  using elsewhere = tempFolder();
  const [folder, secret, path] = ['folder', 'secret', 'thing'].map((part) => join(elsewhere.path, part)) as [string, string, string];
  mkdirSync(folder);
  writeFileSync(secret, 'the secret of another');
  rmSync(path, { recursive: true, force: true });
  try {
    THINGS[kind]?.(path, secret);
  } catch (thrown) {
    out({ name, skipped: String(thrown) });
    continue;
  }
  const naming = NAMED[name]?.(path, { folder, taken });
  out({ name, starts: naming?.line[0] });
  const { code, stderr } = await runCommand(naming?.line ?? [], { env: naming?.env ?? {}, clock: realClock });
  out({ name, code, stderr: stderr.slice(-400) });
}
server.close();
process.exit();
