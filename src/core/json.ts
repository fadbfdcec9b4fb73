/** What state is made of: plain data that JSON keeps exactly. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
