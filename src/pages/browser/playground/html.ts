// Templates of the playground. Whatever is between braces becomes a text or an attribute, never HTML, and a text shows its invisible
// characters as escapes, as on the status page.
import htm from 'htm';
import { h, type VNode } from 'preact';
import { safeText } from '../../../safe-text.ts';

type Tag = Parameters<typeof h>[0];
type Attributes = Parameters<typeof h>[1];

export const html = htm.bind(element) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

function element(tag: Tag, attributes: Attributes, ...children: unknown[]): VNode {
  const label =
    attributes && 'aria-label' in attributes ? { 'aria-label': shown(attributes['aria-label']) } : undefined;
  return h(tag as 'div', { ...attributes, ...label } as object, ...(children.map(shown) as VNode[]));
}

function shown(value: unknown): unknown {
  if (typeof value === 'string') return safeText(value);
  return Array.isArray(value) ? value.map(shown) : value;
}
