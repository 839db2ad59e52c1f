import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Stands between a trainer and its supervisor, and appends the trainer's messages to a file, line
 * by line. Arguments: the folder for its socket and the file, and the command.
 */
const [folder = '', command = '', ...args] = process.argv.slice(2);
const socket = join(folder, 'relay.sock');

const server = createServer((trainer) => {
  const supervisor = connect(process.env['HOLDFAST_SOCKET'] ?? '');
  for (const end of [trainer, supervisor]) end.on('error', () => {});
  createInterface({ input: trainer }).on('line', (line) => appendFileSync(join(folder, 'said'), `${line}\n`));
  trainer.pipe(supervisor);
  supervisor.pipe(trainer);
});
server.listen(socket, () => {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, HOLDFAST_SOCKET: socket } });
  child.on('exit', (code) => process.exit(code ?? 1));
});
