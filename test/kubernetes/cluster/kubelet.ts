import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Box, Daemon } from './box.ts';
import type { Facility } from './facility.ts';
import { CONTROL_PLANE_IP } from './network.ts';
import { DEFAULT_EVICTION, type NodeOptions } from './options.ts';
import { type NodePlace, runtimeSocket } from './runtime.ts';

interface KubeletOptions {
  readonly box: Box;
  readonly facility: Facility;
  readonly node: NodePlace;
  readonly ip: string;
  /**
   * A cgroup root of its own, which exists already. Two kubelets with one root would remove each
   * other's pods.
   */
  readonly cgroup: string;
  readonly kubeconfig: string;
  /** The address of the bus that announces the machine's shutdown; never the machine's own bus. */
  readonly bus: string;
  readonly options: NodeOptions;
}

export function startKubelet({ box, facility, node, ip, cgroup, kubeconfig, bus, options }: KubeletOptions): Daemon {
  const config = join(node.folder, 'kubelet.json');
  const resolv = join(node.folder, 'resolv.conf');
  mkdirSync(node.folder, { recursive: true });
  writeFileSync(resolv, `nameserver ${CONTROL_PLANE_IP}\n`);
  writeFileSync(config, JSON.stringify(kubeletConfig({ node, ip, cgroup, options, resolv }), null, 2));
  const labels = Object.entries(options.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const command = [
    facility.program('kubelet'),
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${join(node.disk, 'kubelet')}`,
    `--cert-dir=${join(node.disk, 'certificates')}`,
    `--hostname-override=${node.name}`,
    `--node-ip=${ip}`,
    ...(labels.length === 0 ? [] : [`--node-labels=${labels.join(',')}`]),
  ];
  return box.start(`${node.name}-kubelet`, command, { DBUS_SYSTEM_BUS_ADDRESS: bus });
}

function kubeletConfig(given: Pick<KubeletOptions, 'node' | 'ip' | 'cgroup' | 'options'> & { readonly resolv: string }): unknown {
  const { node, ip, cgroup, options, resolv } = given;
  const socket = `unix://${runtimeSocket(node.name)}`;
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: ip,
    healthzPort: 0,
    // Only processes of the cluster can reach it.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: socket,
    imageServiceEndpoint: socket,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    clusterDNS: [CONTROL_PLANE_IP],
    clusterDomain: 'cluster.local',
    resolvConf: resolv,
    podLogsDir: join(node.disk, 'pod-logs'),
    volumePluginDir: join(node.disk, 'volume-plugins'),
    evictionHard: { ...DEFAULT_EVICTION, ...options.evictionHard },
    evictionPressureTransitionPeriod: '5s',
    // Images cannot be pulled again, so the kubelet must not remove any to make room.
    imageGCHighThresholdPercent: 100,
    nodeStatusReportFrequency: '2s',
    nodeStatusUpdateFrequency: '2s',
    registerWithTaints: options.taints ?? [],
    ...(options.shutdownGraceSeconds === undefined ? {} : { shutdownGracePeriod: `${options.shutdownGraceSeconds}s` }),
    ...options.kubelet,
  };
}
