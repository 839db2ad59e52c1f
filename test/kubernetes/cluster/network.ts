/** One bridge inside the box: the control plane, the nodes and their pods, each with an address of its own. There is no way out. */
const BRIDGE = 'pods';
const CONTROL_PLANE_IP = '10.244.0.100';

function nodeIp(index: number): string {
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
