import type { Gang } from '../gangs/gang.ts';
import type { World } from './world.ts';

/** The gangs of pods, each once, in the order of the pods. */
export function gangsOf({ gangs }: World, pods: readonly string[]): readonly Gang[] {
  const found = new Map<string, Gang>();
  for (const key of pods) {
    const gang = gangs.of(key);
    if (gang !== null) found.set(gang.key, gang);
  }
  return [...found.values()];
}
