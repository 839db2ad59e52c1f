import { readFileSync } from 'node:fs';
import type { Box } from './box.ts';
import type { Facility } from './facility.ts';
import { eventually } from './wait.ts';

/** Announces the machine's shutdown to a kubelet, on a private bus. */
export interface Logind {
  /** The bus address for the kubelet's environment. */
  readonly address: string;
  /** Waits until the kubelet listens. */
  whenListenedTo(signal?: AbortSignal): Promise<void>;
  /** Announces that the machine will shut down, or that it will not after all. */
  announce(isShutdownComing: boolean): Promise<void>;
}

interface LogindOptions {
  readonly box: Box;
  readonly facility: Facility;
  readonly node: string;
}

export async function startLogind({ box, facility, node }: LogindOptions): Promise<Logind> {
  const [folder, socket, words] = [`/run/${node}`, `/run/${node}/bus`, `/run/${node}/shutdown`];
  await box.run(['mkdir', '-p', folder]);
  const daemon = box.start(`${node}-logind`, [facility.program('logind'), socket, words]);
  const hopeless = (): string | null => daemon.ended();
  await eventually(
    `the bus of ${node}`,
    () =>
      box.run(['test', '-p', words]).then(
        () => true,
        () => null,
      ),
    { hopeless },
  );
  const isListenedTo = (): true | null => (readFileSync(daemon.log, 'utf8').includes('listened to') ? true : null);
  return {
    address: `unix:path=${socket}`,
    whenListenedTo: async (signal) => void (await eventually(`the kubelet of ${node} on its bus`, isListenedTo, { signal, hopeless })),
    announce: async (isShutdownComing) => void (await box.run(['sh', '-c', `echo ${isShutdownComing} > ${words}`])),
  };
}
