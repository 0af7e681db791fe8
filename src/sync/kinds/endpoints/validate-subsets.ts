// Whether the API server would accept these subsets. It would refuse the whole object without the name of a patch; found
// here, the problem can be blamed on the patch that made it. Pure.

import { dnsLabelProblems, dnsSubdomainProblems, labelKeyProblems } from '../../../object/meta/qualified-name.ts';
import { isMapped, parseAddress, plainV4Of } from '../../../object/text/ip.ts';
import { isRecord, shapeOf } from '../../../object/text/json.ts';
import type { ResultProblem } from '../../plan/kind.ts';
import {
  at,
  type Below,
  here,
  isTextMap,
  mappedAddress,
  problemOfFields,
  problemOfList,
  resultProblem,
  under,
} from '../payload/problem.ts';
import { fieldNames } from './shape.ts';

const known = {
  subset: new Set<string>(fieldNames.subset),
  address: new Set<string>(fieldNames.address),
  port: new Set<string>(fieldNames.port),
  targetRef: new Set<string>(fieldNames.targetRef),
};

const protocols = ['TCP', 'UDP', 'SCTP'];

export function problemOfSubsets(subsets: unknown): ResultProblem | undefined {
  return resultProblem(under('subsets', problemOfList(subsets, problemOfSubset)));
}

/** The name of the kind in messages. */
const kinds = 'Endpoints';

function problemOfSubset(subset: unknown): Below | undefined {
  if (!isRecord(subset)) return here(`must be an object, found ${shapeOf(subset)}`);
  const { addresses, notReadyAddresses } = subset;
  const ports = subset['ports'] ?? [];
  const needsName = Array.isArray(ports) && ports.length > 1;
  return (
    problemOfFields(subset, known.subset, kinds) ??
    under('addresses', problemOfAddresses(addresses)) ??
    under('notReadyAddresses', problemOfAddresses(notReadyAddresses)) ??
    under(
      'ports',
      problemOfList(ports, (port) => problemOfPort(port, needsName)),
    )
  );
}

function problemOfAddresses(addresses: unknown): Below | undefined {
  return addresses === undefined || addresses === null ? undefined : problemOfList(addresses, problemOfAddress);
}

function problemOfAddress(address: unknown): Below | undefined {
  if (!isRecord(address)) return here(`must be an object, found ${shapeOf(address)}`);
  const { ip, hostname, nodeName, targetRef } = address;
  if (typeof ip !== 'string') return at('ip', `must be a string, found ${shapeOf(ip)}`);
  const parsed = plainV4Of(ip) >= 0 ? undefined : parseAddress(ip);
  if (parsed?.kind === 'invalid') return at('ip', `must be an IP address, but ${parsed.reason}`);
  if (parsed !== undefined && isMapped(parsed)) return at('ip', mappedAddress);
  const isUnnamed = hostname === undefined || hostname === '';
  if (!isUnnamed && (typeof hostname !== 'string' || dnsLabelProblems(hostname).length > 0))
    return at('hostname', 'must be a DNS label');
  if (nodeName !== undefined && typeof nodeName !== 'string')
    return at('nodeName', `must be a string, found ${shapeOf(nodeName)}`);
  if (nodeName !== undefined && dnsSubdomainProblems(nodeName).length > 0)
    return at('nodeName', 'must be a DNS subdomain, or left out');
  if (targetRef !== undefined && !isTextMap(targetRef)) return at('targetRef', 'must be an object of strings');
  const ofReference = targetRef && under('targetRef', problemOfFields(targetRef, known.targetRef, kinds));
  return ofReference ?? problemOfFields(address, known.address, kinds);
}

function problemOfPort(port: unknown, needsName: boolean): Below | undefined {
  if (!isRecord(port)) return here(`must be an object, found ${shapeOf(port)}`);
  const { port: number, protocol, name, appProtocol } = port;
  if (!Number.isInteger(number) || (number as number) < 1 || (number as number) > 65_535) {
    const got = typeof number === 'number' ? number : shapeOf(number);
    return at('port', `must be a whole number from 1 to 65535, found ${got}`);
  }
  if (protocol !== undefined && !protocols.includes(protocol as string))
    return at('protocol', 'must be TCP, UDP or SCTP');
  const isUnnamed = name === undefined || name === '';
  if (isUnnamed && needsName) return at('name', 'is required beside other ports');
  if (!isUnnamed && (typeof name !== 'string' || dnsLabelProblems(name).length > 0))
    return at('name', 'must be a DNS label');
  if (appProtocol !== undefined && typeof appProtocol !== 'string') return at('appProtocol', 'must be a string');
  // The API server applies the rule of label keys here.
  if (appProtocol !== undefined && labelKeyProblems(appProtocol).length > 0)
    return at('appProtocol', 'must be a name, with a DNS subdomain and "/" before it if any, or left out');
  return problemOfFields(port, known.port, kinds);
}
