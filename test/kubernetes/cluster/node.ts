import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeApi, KubeObject } from './api.ts';
import type { Box, Daemon } from './box.ts';
import { killCgroup, makeCgroup } from './cgroups.ts';
import type { Facility } from './facility.ts';
import { startKubelet } from './kubelet.ts';
import { startLogind } from './logind.ts';
import { DEFAULT_DISK_MIB, type NodeOptions } from './options.ts';
import { type NodePlace, control, startRuntime } from './runtime.ts';
import { eventually } from './wait.ts';

export interface ClusterNode {
  readonly name: string;
  /** The extra resources that the node offers, also after it has come back. */
  readonly resources: Readonly<Record<string, number>>;
  /** Fills the disk so that only this much stays free, until it is released. */
  fillDisk(freeMiB: number): Promise<void>;
  freeDisk(): Promise<void>;
  /** Imports the images again. A kubelet under disk pressure removes images that no pod uses. */
  importImages(): Promise<void>;
  /** Announces to the kubelet that its machine will shut down, or that it will not after all. */
  announceShutdown(isComing: boolean): Promise<void>;
  /** Ends the kubelet; its containers continue. */
  stopKubelet(): Promise<void>;
  /** Starts the kubelet again, with these additional fields in its configuration. */
  startKubelet(more?: NodeOptions['kubelet']): void;
  /** Kills the kubelet and all containers at once, as when the machine loses its power. */
  loseEverything(): Promise<void>;
  /**
   * The time of the kubelet's last start, in milliseconds since 1970. The API server's reports of
   * earlier times are about the kubelet before.
   */
  kubeletStarted(): number;
  /** Why the node can no longer become ready, or null. */
  hopeless(): string | null;
}

export interface NodeStart {
  readonly box: Box;
  readonly facility: Facility;
  readonly place: NodePlace;
  readonly ip: string;
  readonly cgroup: string;
  readonly leases: string;
  readonly images: readonly string[];
  readonly kubeconfig: string;
  readonly options: NodeOptions;
  readonly signal?: AbortSignal | undefined;
}

/** Starts a node with its own disk, containerd and kubelet. The node becomes ready later. */
export async function startNode(start: NodeStart): Promise<ClusterNode> {
  const { box, facility, place: node, leases, images, options, signal } = start;
  await mountDisk(box, node, options.diskMiB ?? DEFAULT_DISK_MIB);
  makeCgroup(start.cgroup);
  const runtime = await startRuntime({ box, facility, node, leases, signal });
  const importImages = async (): Promise<void> => {
    for (const archive of images) await control({ box, facility, node }, ['images', 'import', archive]);
  };
  await importImages();
  const logind = await startLogind({ box, facility, node: node.name });
  let kubelet: Daemon | null = null;
  let kubeletStarted = 0;
  const launch = (more: NodeOptions['kubelet'] = {}): void => {
    kubeletStarted = Date.now();
    kubelet = startKubelet({ ...start, node, bus: logind.address, options: { ...options, kubelet: { ...options.kubelet, ...more } } });
  };
  const stopKubelet = async (how: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    await kubelet?.stop(how);
    kubelet = null;
  };
  launch();
  if (options.shutdownGraceSeconds !== undefined) await logind.whenListenedTo(signal);
  const ballast = join(node.disk, 'ballast');
  return {
    name: node.name,
    resources: options.resources ?? {},
    fillDisk: async (freeMiB) => {
      const [, free] = (await box.run(['df', '--block-size=1MiB', '--output=avail', node.disk])).trim().split('\n');
      await box.run(['fallocate', '--length', `${Number(free) - freeMiB}MiB`, ballast]);
    },
    freeDisk: async () => void (await box.run(['rm', '-f', ballast])),
    importImages,
    announceShutdown: (isComing) => logind.announce(isComing),
    stopKubelet: () => stopKubelet(),
    startKubelet: launch,
    loseEverything: async () => {
      await stopKubelet('SIGKILL');
      killCgroup(start.cgroup);
    },
    kubeletStarted: () => kubeletStarted,
    hopeless: () => runtime.ended() ?? kubelet?.ended() ?? null,
  };
}

/** Waits until the node accepts pods and offers all its resources. */
export async function whenReady(api: KubeApi, node: ClusterNode, signal?: AbortSignal): Promise<void> {
  const path = `/api/v1/nodes/${node.name}`;
  const waiting = { signal, hopeless: () => node.hopeless() };
  await eventually(`node ${node.name}`, async () => ((await isReady(api, path, node.kubeletStarted())) ? true : null), waiting);
  if (Object.keys(node.resources).length === 0) return;
  const amounts = Object.fromEntries(Object.entries(node.resources).map(([name, amount]) => [name, String(amount)]));
  await api.patch(`${path}/status`, { status: { capacity: amounts } });
  const offers = async (): Promise<true | null> => {
    const allocatable = ((await api.get(path))?.status?.allocatable ?? {}) as Readonly<Record<string, string>>;
    return Object.entries(amounts).every(([name, amount]) => allocatable[name] === amount) ? true : null;
  };
  await eventually(`the resources of node ${node.name}`, offers, waiting);
}

interface Condition {
  readonly type: string;
  readonly status: string;
  /** Cut to the second. */
  readonly lastHeartbeatTime: string;
}

async function isReady(api: KubeApi, path: string, since: number): Promise<boolean> {
  const node: KubeObject | null = await api.get(path);
  const conditions = (node?.status?.conditions ?? []) as readonly Condition[];
  const taints = (node?.spec?.taints ?? []) as readonly { readonly key: string }[];
  const isHeldBack = taints.some(({ key }) => /^node\.kubernetes\.io\/(not-ready|unreachable)$/.test(key));
  const ready = conditions.find(({ type }) => type === 'Ready');
  return !isHeldBack && ready?.status === 'True' && Date.parse(ready.lastHeartbeatTime) > since;
}

async function mountDisk(box: Box, node: NodePlace, mib: number): Promise<void> {
  const image = join(node.folder, 'disk.img');
  mkdirSync(node.disk, { recursive: true });
  writeFileSync(image, '', { mode: 0o600 });
  truncateSync(image, mib * 2 ** 20);
  await box.run(['mkfs.ext4', '-q', '-m', '0', image]);
  try {
    // The kernel releases the loop device with the mount, and the mount with the box.
    await box.run(['mount', '-o', 'loop', image, node.disk]);
  } catch (thrown) {
    const said = (thrown as { readonly stderr?: string }).stderr?.trim() ?? String(thrown);
    throw new Error(`the disk of ${node.name} cannot be mounted: ${said}; \`losetup --list\` tells who has loop devices`, {
      cause: thrown,
    });
  }
}
