// What a world is given from outside: the windows onto both clusters, the rules in force, and the circumstances of a pass.
import type { Window } from '../../cluster/window/window.ts';
import type { AddressPolicy } from '../plan/address-policy.ts';
import type { Translation } from '../plan/draft.ts';
import type { HostItem, HostServiceItem, ServiceItem, VirtualItem } from '../plan/kind.ts';

export interface Windows {
  virtual: Window<VirtualItem>;
  services: Window<ServiceItem>;
  host: Window<HostItem>;
  /** The Service VC in HNS; undefined when no owner reference is written. */
  owner: Window<ServiceItem> | undefined;
  /** The host window watches only objects with our marker label; other objects are known from single reads. */
  showsMarkedOnly?: boolean;
  /** Services of the mapped host namespaces, where objects of the host itself may have the same names. */
  hostServices?: Window<HostServiceItem> | undefined;
}

export interface Rules {
  translation: Translation;
  policy: AddressPolicy;
  /** With patches the address policy judges their result, because they decide which addresses are published. */
  isPatched: boolean;
}

/** Facts that do not come from the windows. */
export interface Circumstances {
  isDeleteWithheld: boolean;
  ignoreOrder: boolean;
  mayRemoveLabelsBack: boolean;
  backFlowWaitMs: number;
}
