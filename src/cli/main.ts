import { version } from './frame/version.ts';

// The commonest question of scripts is answered without loading anything else.
const [only, ...more] = process.argv.slice(2);
if (only === '--version' && more.length === 0) process.stdout.write(`holdfast ${version()}\n`);
else {
  const { setRuntimeFlags } = await import('../core/runtime-flags.ts');
  setRuntimeFlags(only);
  const [{ runProcess }, { COMMANDS }] = await Promise.all([import('./run-process.ts'), import('./commands/index.ts')]);
  await runProcess(COMMANDS);
}
