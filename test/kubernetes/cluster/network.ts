/**
 * One bridge inside the box connects the control plane, the nodes and their pods. Each has an
 * address of its own. The bridge has no route out.
 */
const BRIDGE = 'pods';
const SUBNET = '10.244.0.0/16';
export const CONTROL_PLANE_IP = '10.244.0.100';

export const MOST_NODES = 50;

export function nodeIp(index: number): string {
  return `10.244.0.${index + 1}`;
}

export function prepareNetwork(nodes: number): string[] {
  const addresses = [CONTROL_PLANE_IP, ...Array.from({ length: nodes }, (_, index) => nodeIp(index))];
  return [
    `ip link add ${BRIDGE} type bridge`,
    ...addresses.map((address) => `ip address add ${address}/16 dev ${BRIDGE}`),
    `ip link set ${BRIDGE} up`,
  ];
}

/**
 * How containerd connects a pod. All nodes take addresses from one folder, so no two pods get the
 * same.
 */
export function podNetwork(leases: string): unknown {
  const ipam = {
    type: 'host-local',
    dataDir: leases,
    ranges: [[{ subnet: SUBNET, rangeStart: '10.244.1.1', rangeEnd: '10.244.255.250' }]],
  };
  return { cniVersion: '0.4.0', name: 'pods', plugins: [{ type: 'bridge', bridge: BRIDGE, ipam }] };
}
