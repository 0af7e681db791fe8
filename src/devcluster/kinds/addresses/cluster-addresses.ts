// Allocates and releases cluster addresses and node ports. Each address remembers its holder's uid, so that a failed create
// cannot release the address of another Service.
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import { invalidValue } from '../../../object/meta/field-error.ts';
import { invalid } from '../../../object/meta/status.ts';

/** A /16 under 10.0.0.0; the first address is the API server's own. */
const networkPrefix = '10.0';
const firstNodePort = 30_000;
const nodePorts = 2_768;

export const apiServiceAddress = `${networkPrefix}.0.1`;

export class ClusterAddresses {
  #holders = new Map<string, string>();
  #next = 2;
  #nextNodePort = 0;

  take(holder: string): string {
    for (let tries = 0; tries < 65_000; tries++) {
      const number = this.#next;
      this.#next = number >= 65_500 ? 2 : number + 1;
      const address = `${networkPrefix}.${number >> 8}.${number & 255}`;
      if (this.#holders.has(address)) continue;
      this.#holders.set(address, holder);
      return address;
    }
    throw new Error('take a cluster address: every address of the range is taken');
  }

  claim(address: string, holder: string): void {
    const current = this.#holders.get(address);
    if (current === holder) return;
    if (current !== undefined) {
      const errors = [
        invalidValue('spec.clusterIPs', [address], 'failed to allocate IP: provided IP is already allocated'),
      ];
      throw new StatusFault(invalid({ group: '', kind: 'Service' }, '', errors));
    }
    this.#holders.set(address, holder);
  }

  release(address: string, holder: string): void {
    if (this.#holders.get(address) === holder) this.#holders.delete(address);
  }

  takeNodePort(): number {
    this.#nextNodePort = (this.#nextNodePort + 1) % nodePorts;
    return firstNodePort + this.#nextNodePort;
  }
}
