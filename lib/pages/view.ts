import type { Request, Response } from 'express';
import { defined } from '../tools/json.ts';
import { withQuery } from '../tools/url.ts';
import { fieldsOf, isShown, thisPage } from './form.ts';
import type { Field, Form, Link } from './form.ts';
import type { Page, PageKind } from './page.ts';
import { partsOfPage } from './parts.ts';

/** A built-in page as data, for `pages.render`. It holds no password, code, token or other secret. */
export interface BuiltInPage {
  readonly kind: PageKind;
  /** The heading. */
  readonly title: string;
  /** The line below the heading. */
  readonly lead?: string;
  /** The language of the texts, as a BCP 47 tag: `pages.lang`, or the one that `Accept-Language` picked. */
  readonly lang: string;
  /** Why the page is shown; the response has its status. */
  readonly error?: { readonly code: string; readonly message: string };
  /** What comes first, where nothing failed: what was done, a step that is missing, or a time to wait for. */
  readonly notice?: string;
  /**
   * What was entered, such as `email`, and what the form sends back in hidden fields, such as `returnTo`. Any person can write
   * these values into a URL or a form, so escape them.
   */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** What the visitor fills in, each with the message that belongs to it. */
  readonly fields: readonly PageField[];
  /** Where the form posts; absent where the page has none. */
  readonly action?: string;
  /** The form's buttons. One with a `name` sends its `value`. */
  readonly buttons: readonly { readonly label: string; readonly name?: string; readonly value?: string }[];
  /** The pages that it leads to, by name: root-relative, or absolute where they are on another site. */
  readonly links: Readonly<Record<string, string | undefined>>;
  /** The texts of `links`, by the same names. */
  readonly labels: Readonly<Record<string, string | undefined>>;
  /** On the sign-in page: the way in that this browser used last: a provider's name, or that of another way, such as `password`. */
  readonly lastUsed?: string;
  /** What the visitor chooses from, such as providers, organizations or apps. */
  readonly choices: readonly { readonly name: string; readonly href: string }[];
}

/** What the visitor fills in. Of a field that the built-in page does not have, only the name and the message are known. */
export interface PageField {
  readonly name: string;
  /** The message that belongs to it. */
  readonly error?: string;
  readonly label?: string;
  readonly hint?: string;
  /** The `autocomplete` token of the HTML standard. */
  readonly autocomplete?: string;
}

/** Answers with a page of the application's own (`true`), or leaves it to the built-in one (`false`). */
export type RenderPage = (req: Request, res: Response, page: BuiltInPage) => boolean | Promise<boolean>;

/** The page as data. Frozen, because the answers to a double submit share it. */
export function pageView(page: Page): BuiltInPage {
  const { kind, heading, lead, brand, failure, lastUsed, values = {} } = page;
  const forms = partsOfPage(page).filter((part) => part.part === 'form');
  const own = forms.filter((form) => form.name === undefined && isShown(form));
  const { links, labels } = waysOf(page);
  return Object.freeze({
    kind,
    title: heading.plain,
    ...(lead && { lead: lead.plain }),
    lang: brand.lang,
    ...(!failure && page.error && { notice: page.error.message.plain }),
    ...(failure && { error: Object.freeze({ code: failure.code, message: failure.message }) }),
    values: Object.freeze(defined(values)),
    fields: frozen(fieldsOfPage(own, failure?.fields ?? {})),
    ...defined({ action: own[0]?.action, lastUsed }),
    buttons: frozen(buttonsOf(own)),
    links: Object.freeze(links),
    labels: Object.freeze(labels),
    choices: frozen(choicesOf(page)),
  });
}

/** The fields by name, and those of which only a message is known. */
function fieldsOfPage(forms: readonly Form[], messages: Readonly<Record<string, string>>): readonly PageField[] {
  const told = forms.flatMap((form) => fieldsOf(form).map(fieldOf));
  const names = new Set(told.map(({ name }) => name));
  const others = Object.keys(messages).filter((name) => !names.has(name));
  return [...told, ...others.map((name) => ({ name }))].map((field) => ({
    ...field,
    ...(Object.hasOwn(messages, field.name) && { error: messages[field.name] ?? '' }),
  }));
}

function fieldOf({ name, label, hint, autocomplete }: Field): PageField {
  return { name, label: label.plain, ...defined({ hint: hint?.plain }), autocomplete };
}

/** The buttons of the form. What posts elsewhere is among the ways on, and only the page's own script presses the button of its form. */
function buttonsOf(forms: readonly Form[]): BuiltInPage['buttons'] {
  const own = forms.find(({ scripted }) => scripted === undefined)?.buttons ?? [];
  return own
    .filter(({ action }) => action === undefined)
    .map(({ label, name, value }) => ({ label: label.plain, ...defined({ name, value }) }));
}

/** The pages that it leads to, and the forms that are ways to one, such as "Use another account". */
function waysOf(page: Page): Pick<BuiltInPage, 'links' | 'labels'> {
  const ways = partsOfPage(page).flatMap((part): readonly Way[] => {
    if (part.part === 'link') return [part];
    if (part.part !== 'form') return [];
    const { name, action, hidden = {}, isSearch, buttons } = part;
    const href = isSearch === true ? withQuery(action, defined(hidden) as Readonly<Record<string, string>>) : action;
    const asides = fieldsOf(part).flatMap(({ aside }) => aside ?? []);
    return name === undefined ? asides : [...buttons.map(({ label }) => ({ name, href, label })), ...asides];
  });
  const others = Object.entries(page.links ?? {}).flatMap(([name, href]) => (href ? [[name, href] as const] : []));
  const named = [...others, ...ways.flatMap(({ name, href }) => (href === thisPage ? [] : [[name, href] as const]))];
  return {
    links: Object.fromEntries(named.map(([name, href]) => [name, withoutInvitation(href)])),
    labels: Object.fromEntries(
      ways.flatMap(({ name, href, label }) => (href === thisPage ? [] : [[name, label.plain]])),
    ),
  };
}

type Way = Pick<Link, 'name' | 'href' | 'label'>;

/** Each once: a long list shows the one that was chosen last twice. */
function choicesOf(page: Page): BuiltInPage['choices'] {
  const choices = partsOfPage(page).flatMap((part) => (part.part === 'list' ? part.choices : []));
  return [...new Map(choices.map(({ name, href }) => [href, { name: name.plain, href }])).values()];
}

/** The built-in page's own link names an invitation again, by its token. */
function withoutInvitation(href: string): string {
  return href.replace(/([?&])invitation_token=[^&#]*(&?)/, (_, before: string, after) => (after === '' ? '' : before));
}

function frozen<Item extends object>(items: readonly Item[]): readonly Item[] {
  return Object.freeze(items.map((item) => Object.freeze({ ...item })));
}
