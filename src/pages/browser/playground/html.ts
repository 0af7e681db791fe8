// Templates of the playground. Whatever is between braces becomes a text or an attribute, never HTML.
import htm from 'htm';
import { h, type VNode } from 'preact';

export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
