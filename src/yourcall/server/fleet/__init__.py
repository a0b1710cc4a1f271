"""The other machines of a fleet, as this server shows them and passes requests on to them."""
