// Which regular expressions an expression may not spell out: those that V8 would compile for seconds without looking at the clock.
import type { Literal } from 'acorn';
import { realmLimits } from '../limits.ts';
import type { NodeFault } from './expression-fault.ts';
import { patternWeight } from './pattern-weight.ts';

export function patternFaults(node: Literal): NodeFault[] {
  if (node.regex == null) return [];
  const { pattern, flags } = node.regex;
  if (pattern.length > realmLimits.pattern) {
    return [fault(node, `regular expression has more than ${realmLimits.pattern} characters`)];
  }
  if (flags.includes('v')) {
    return [{ at: node, message: 'flag "v" of a regular expression is not available', fix: 'use the flag "u"' }];
  }
  if (patternWeight(pattern, flags.includes('u')) <= realmLimits.patternWeight) return [];
  return [
    fault(
      node,
      'regular expression has too many optional parts, repeated groups or Unicode classes to be compiled in time',
    ),
  ];
}

function fault(at: Literal, message: string): NodeFault {
  return { at, message, fix: 'split it into several shorter ones' };
}
