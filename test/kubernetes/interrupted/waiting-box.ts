import { it } from 'vitest';

it('makes a box, says where, and waits to be interrupted', async () => {
  await import('../cluster/make-box.ts');
  await new Promise(() => {});
});
