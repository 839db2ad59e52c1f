import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Box, Daemon } from './box.ts';
import { type Facility, SYSTEM_PATH } from './facility.ts';
import { podNetwork } from './network.ts';
import { eventually } from './wait.ts';

export const PAUSE_IMAGE = 'holdfast.test/pause:1';
export const BASE_IMAGE = 'holdfast.test/base:1';

export interface NodePlace {
  readonly name: string;
  /** The folder of the node's configuration. */
  readonly folder: string;
  /** Where the node's disk is mounted, inside the box. */
  readonly disk: string;
}

export interface RuntimeOptions {
  readonly box: Box;
  readonly facility: Facility;
  readonly node: NodePlace;
  /** The folder with the leases of pod addresses for all nodes. */
  readonly leases: string;
  readonly signal?: AbortSignal | undefined;
}

/** The socket of a node's containerd, inside the box. */
export function runtimeSocket(node: string): string {
  return `/run/${node}/containerd.sock`;
}

/**
 * Starts the containerd of one node. Two kubelets on one containerd would end each other's pods.
 */
export async function startRuntime({ box, facility, node, leases, signal }: RuntimeOptions): Promise<Daemon> {
  const networks = join(node.folder, 'cni');
  mkdirSync(networks, { recursive: true });
  writeFileSync(join(networks, '10-pods.conflist'), JSON.stringify(podNetwork(leases)));
  const config = join(node.folder, 'containerd.toml');
  writeFileSync(config, containerdConfig(facility, node, networks));
  const path = [facility.unpacked('usr/bin'), facility.unpacked('usr/sbin'), SYSTEM_PATH].join(':');
  const daemon = box.start(`${node.name}-containerd`, [facility.unpacked('usr/bin/containerd'), '--config', config], { PATH: path });
  const isUp = (): Promise<true | null> =>
    control({ box, facility, node }, ['version']).then(
      () => true,
      () => null,
    );
  await eventually(`containerd of ${node.name}`, isUp, { signal, hopeless: () => daemon.ended() });
  return daemon;
}

/** Runs `ctr` on a node's containerd, in the namespace that the kubelet uses. */
export function control(
  { box, facility, node }: Pick<RuntimeOptions, 'box' | 'facility' | 'node'>,
  args: readonly string[],
): Promise<string> {
  return box.run([facility.unpacked('usr/bin/ctr'), '--address', runtimeSocket(node.name), '--namespace', 'k8s.io', ...args]);
}

function containerdConfig(facility: Facility, node: NodePlace, networks: string): string {
  const text = (value: string): string => JSON.stringify(value);
  return `version = 2
root = ${text(join(node.disk, 'containerd'))}
state = ${text(`/run/${node.name}/containerd`)}
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]

[grpc]
address = ${text(runtimeSocket(node.name))}

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = ${text(PAUSE_IMAGE)}
# Without the right to lower it runc would die of it.
restrict_oom_score_adj = true
# How full the layers of containers are; by itself it looks every 10 s.
stats_collect_period = 2
disable_apparmor = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = ${text(facility.unpacked('usr/lib/cni'))}
conf_dir = ${text(networks)}

[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = ${text(facility.unpacked('usr/sbin/runc'))}
`;
}
