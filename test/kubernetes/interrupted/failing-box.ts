import { it } from 'vitest';

it('makes a box, says where, and fails without taking it down', async () => {
  await import('../cluster/make-box.ts');
  throw new Error('meant to fail');
});
