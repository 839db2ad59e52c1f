import { removeOwnAtOnce } from './cluster/leftovers.ts';

// A set-up file that ends this process's clusters first. An interrupted test runner reaches us as a
// signal, as the end of its connection, or as a failed write, on which Node exits. A test runner
// does not let tests call `exit`, so this ends the process with a signal.
function endNow(): void {
  removeOwnAtOnce();
  process.kill(process.pid, 'SIGKILL');
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) process.on(signal, endNow);
process.on('exit', () => removeOwnAtOnce());
